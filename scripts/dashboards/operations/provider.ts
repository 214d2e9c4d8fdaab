import { uids } from '../frame.ts'
import { linkTo, series } from '../panels.ts'
import { promSeries } from '../sources.ts'
import { allowed, of, orNone } from './selectors.ts'

const size = { width: 8, height: 8 }

/** What the provider says, and how much of the plan is spent. */
export const provider = {
  title: 'The provider and the plan',
  panels: [
    series({
      ...size,
      title: 'Requests by how they ended',
      description: 'Requests a second. Everything other than ok should be seldom.',
      unit: 'reqps',
      none: 'no request was sent since the start',
      queries: [
        promSeries(
          `sum by (outcome) (rate(${of('penstock_requests_total')}[$__rate_interval]))`,
          '{{outcome}}',
        ),
      ],
    }),
    series({
      ...size,
      title: 'Time of a request',
      description:
        '95 of 100 requests take at most this, up to the last byte of the answer. Near the deadline (30 s unless told) they begin to fail.',
      unit: 's',
      none: 'no request was sent since the start',
      queries: [
        promSeries(
          `histogram_quantile(0.95, sum by (le, family) (rate(${of('penstock_request_seconds_bucket')}[$__rate_interval])))`,
          '{{family}}',
        ),
      ],
    }),
    series({
      ...size,
      title: 'Refusals by kind',
      description:
        'Requests that the provider turned away for their credentials, rate, range or plan, within the time of a point. Good is 0: Penstock keeps every documented limit.',
      unit: 'short',
      none: 'not known',
      drawn: 'stacked bars',
      queries: [
        promSeries(
          orNone(
            `sum by (operation, kind) (increase(${of('penstock_refusals_total')}[$__rate_interval])) > 0`,
            'kind',
          ),
          '{{operation}} {{kind}}',
        ),
      ],
    }),
    series({
      ...size,
      title: 'Budgets used',
      description:
        'Share of the requests of each limit group that count in its longest window. Full is no harm by itself: Penstock uses what it may. At the dashed line new data wait too.',
      unit: 'percentunit',
      none: 'nothing is counted by the day',
      min: 0,
      queries: [
        promSeries(`max by (group) (${of('penstock_budget_used_ratio')})`, '{{group}}'),
        promSeries(allowed('budget_spent_ratio'), 'allowed'),
      ],
    }),
    series({
      ...size,
      title: 'Pace of the budgets',
      description:
        'How many times as fast as evenly over its longest window a budget is spent of late, by whoever shares it. By itself Penstock goes at 1 or below, after a quiet time at 2; above the dashed line something else spends.',
      unit: 'short',
      none: 'nothing is counted by the day',
      decimals: 1,
      queries: [
        promSeries(`max by (group) (${of('penstock_budget_pace_ratio')})`, '{{group}}'),
        promSeries(allowed('budget_pace'), 'allowed'),
      ],
    }),
    series({
      ...size,
      title: 'Notifications of players',
      description:
        'What became of notifications that arrived, within the time of a point. Other outcomes than stored and repeated are bad when they are many; none at all is usual where no secret is configured.',
      unit: 'short',
      none: 'not known',
      drawn: 'stacked bars',
      queries: [
        promSeries(
          orNone(
            `sum by (outcome) (increase(${of('penstock_notifications_total')}[$__rate_interval])) > 0`,
            'outcome',
          ),
          '{{outcome}}',
        ),
      ],
    }),
  ],
}

const quarter = { width: 6, height: 8 }
const toQuality = linkTo('Call quality over time, by class, network and device', `/d/${uids['call-quality']}`)

/** The newest that the provider says of the calls themselves: what the alerts on quality judge. */
export const callsNow = {
  title: 'The calls and the players now',
  panels: [
    series({
      ...quarter,
      title: 'Freezes',
      description:
        'Share of the time that audio and video were frozen, over the whole project. Above the dashed lines people hear gaps or see pictures stand still.',
      unit: 'percent',
      none: 'no value was read since the start',
      min: 0,
      queries: [
        promSeries(
          of('penstock_call_quality', 'metric=~"audioFreezeRate|videoFreezeRate"'),
          '{{app}} {{product}} {{metric}}',
        ),
        promSeries(allowed('audio_freeze_percent'), 'allowed (audio)'),
        promSeries(allowed('video_freeze_percent'), 'allowed (video)'),
      ],
    }).links([toQuality]),
    series({
      ...quarter,
      title: 'Join success',
      description:
        'Share of the attempts to join a call that succeeded, and of those that did within five seconds. Below the dashed line people do not get in.',
      unit: 'percent',
      none: 'no value was read since the start',
      max: 100,
      queries: [
        promSeries(of('penstock_call_quality', 'metric=~"joinSuccess.*"'), '{{app}} {{product}} {{metric}}'),
        promSeries(allowed('join_success_percent'), 'expected'),
      ],
    }).links([toQuality]),
    series({
      ...quarter,
      title: 'Network delay',
      description:
        'The network delay rate of the whole project. Above the dashed line the way between people and the provider is slow.',
      unit: 'percent',
      none: 'no value was read since the start',
      min: 0,
      queries: [
        promSeries(of('penstock_call_quality', 'metric="networkDelay"'), '{{app}} {{product}}'),
        promSeries(allowed('network_delay_percent'), 'allowed'),
      ],
    }).links([toQuality]),
    series({
      ...quarter,
      title: 'Age of these values',
      description:
        'How old the newest value is; where none has come yet, how long the process runs. Above the dashed line it says nothing of now, and the alerts on quality stay silent.',
      unit: 's',
      none: 'no value was read since the start',
      min: 0,
      queries: [
        promSeries(
          `max by (app, metric) (min by (app, product, metric) (${of('penstock_call_quality_age_seconds')}))`,
          '{{app}} {{metric}}',
        ),
        promSeries(allowed('quality_age_seconds'), 'allowed'),
      ],
    }),
    series({
      ...size,
      title: 'Cloud players that live',
      description:
        'Players as they were listed last, by their status. Many that failed are bad, and so are numbers near the quota of 50.',
      unit: 'short',
      none: 'no list of players was read yet',
      drawn: 'stacked bars',
      queries: [
        promSeries(`max by (app, status) (${of('penstock_players')})`, '{{app}} {{status}}'),
        promSeries(allowed('players_near_quota'), 'allowed (near the quota)'),
      ],
    }),
    series({
      ...size,
      title: 'Orphan players',
      description:
        'Players that play, or are about to, where no class and no call goes on. They cost money and nobody watches; good is 0.',
      unit: 'short',
      none: 'no list of players was read yet',
      queries: [
        promSeries(`max by (app) (${of('penstock_orphan_players')})`, '{{app}}'),
        promSeries(allowed('orphan_players'), 'allowed for long'),
      ],
    }),
    series({
      ...size,
      title: 'Rooms known',
      description:
        'Rooms by their state. None that are open during classes is bad: then the feed of the app says nothing.',
      unit: 'short',
      none: 'no room is known yet',
      queries: [promSeries(`max by (state) (${of('penstock_rooms')})`, '{{state}}')],
    }),
  ],
}
