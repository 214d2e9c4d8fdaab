import { z } from 'zod'
import { RewardChange } from '../../provider/classroom/index.ts'
import { fieldsWithout, judge, judgeEach } from '../parts/items.ts'
import { timestampIfAny } from '../parts/values.ts'
import { type EventReader, unread } from './event.ts'

const Lists = RewardChange.extend({ rewardDetails: z.array(z.unknown()).nullish() })
const Detail = RewardChange.shape.rewardDetails.unwrap().unwrap().element
const columns = new Set(['userUuid', 'changedReward', 'total', 'totalReward'])

/** cmd 1101. */
export const reward: EventReader = (data, item) => {
  const judged = judge(Lists, data, 'data', item)
  if (!judged.ok) return unread(judged.reject)
  const { rewardDetails, updateTime } = judged.value
  const { good, rejects } = judgeEach(Detail, rewardDetails ?? [], 'data.rewardDetails')
  return {
    ownTime: timestampIfAny(updateTime),
    rejects,
    rows: event => ({
      'classroom.reward': good.map(({ value, raw, ordinal }) => ({
        ...event,
        ordinal,
        user_uuid: value.userUuid ?? null,
        changed_reward: value.changedReward ?? null,
        total: value.total ?? value.totalReward ?? null,
        extra: fieldsWithout(columns, raw, value),
      })),
    }),
  }
}
