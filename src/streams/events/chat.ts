import { ChatMessage } from '../../provider/classroom/index.ts'
import { asText, fieldsWithout } from '../parts/items.ts'
import { readerOf } from './event.ts'

const columns = new Set(['fromUser', 'message', 'type'])

/** cmd 3. */
export const chat = readerOf(ChatMessage, (value, raw) => {
  const { fromUser, message, type } = value
  return {
    rows: event => ({
      'classroom.chat_message': [
        {
          ...event,
          user_uuid: fromUser?.userUuid ?? null,
          user_name: fromUser?.userName ?? null,
          role: asText(fromUser?.role),
          message,
          type: type ?? null,
          extra: fieldsWithout(columns, raw, value),
        },
      ],
    }),
  }
})
