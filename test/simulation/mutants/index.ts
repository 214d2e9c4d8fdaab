import { accidents } from './accidents.ts'
import { classrooms } from './classrooms.ts'
import { decoding } from './decoding.ts'
import { feeds } from './feeds.ts'
import { keeping } from './keeping.ts'
import { limits } from './limits.ts'
import { newcomers } from './newcomers.ts'
import { ownership } from './ownership.ts'
import type { Plant } from './plant.ts'
import { players } from './players.ts'
import { progress } from './progress.ts'
import { ranges } from './ranges.ts'
import { spoiltRanges } from './spoilt-ranges.ts'
import { strangers } from './strangers.ts'
import { strangersEight } from './strangers-eight.ts'
import { strangersEleven } from './strangers-eleven.ts'
import { strangersFive } from './strangers-five.ts'
import { strangersFour } from './strangers-four.ts'
import { strangersFourteen } from './strangers-fourteen.ts'
import { strangersNine } from './strangers-nine.ts'
import { strangersSeven } from './strangers-seven.ts'
import { strangersSix } from './strangers-six.ts'
import { strangersTen } from './strangers-ten.ts'
import { strangersThirteen } from './strangers-thirteen.ts'
import { strangersThree } from './strangers-three.ts'
import { strangersTwelve } from './strangers-twelve.ts'
import { teachers } from './teachers.ts'
import { together } from './together.ts'
import { told } from './told.ts'
import { unread } from './unread.ts'
import { views } from './views.ts'
import { visitors } from './visitors.ts'

/** All planted bugs. */
export const plants: readonly Plant[] = [
  ...progress,
  ...ownership,
  ...limits,
  ...ranges,
  ...classrooms,
  ...feeds,
  ...players,
  ...decoding,
  ...together,
  ...keeping,
  ...told,
  ...views,
  ...strangers,
  ...newcomers,
  ...visitors,
  ...teachers,
  ...strangersThree,
  ...strangersFour,
  ...strangersFive,
  ...strangersSix,
  ...strangersSeven,
  ...strangersEight,
  ...strangersNine,
  ...strangersTen,
  ...strangersEleven,
  ...strangersTwelve,
  ...strangersThirteen,
  ...strangersFourteen,
  ...spoiltRanges,
  ...unread,
  ...accidents,
]
