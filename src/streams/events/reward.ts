import { z } from 'zod'
import { RewardChange } from '../../provider/classroom/index.ts'
import { fieldsWithout, judgeEach } from '../parts/items.ts'
import { timestampIfAny } from '../parts/values.ts'
import { readerOf } from './event.ts'

const Lists = RewardChange.extend({ rewardDetails: z.array(z.unknown()).nullish() })
const Detail = RewardChange.shape.rewardDetails.unwrap().unwrap().element
const columns = new Set(['userUuid', 'changedReward', 'total', 'totalReward'])

/** cmd 1101. */
export const reward = readerOf(Lists, value => {
  const { rewardDetails, updateTime } = value
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
})
