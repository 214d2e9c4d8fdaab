import { ChatMessage } from '../../provider/classroom/index.ts'
import { asText, fieldsWithout, judge } from '../parts/items.ts'
import { type EventReader, rawObject, unread } from './event.ts'

const columns = new Set(['fromUser', 'message', 'type'])

/** cmd 3. */
export const chat: EventReader = (data, item) => {
  const judged = judge(ChatMessage, data, 'data', item)
  if (!judged.ok) return unread(judged.reject)
  const { fromUser, message, type } = judged.value
  return {
    ownTime: null,
    rejects: [],
    rows: event => ({
      'classroom.chat_message': [
        {
          ...event,
          user_uuid: fromUser?.userUuid ?? null,
          user_name: fromUser?.userName ?? null,
          role: asText(fromUser?.role),
          message,
          type: type ?? null,
          extra: fieldsWithout(columns, rawObject(data), judged.value),
        },
      ],
    }),
  }
}
