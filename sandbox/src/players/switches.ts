import { choice, quantity } from '../switch.ts'

/** What the document of the cloud players leaves open. */
export const playerSwitches = {
  playerLimits: choice(
    'joint',
    ['split', 'joint'],
    'whether players without a name and lists without a filter have the larger limits for themselves, or all share the smaller ones',
  ),
  playerList: choice(
    'full',
    ['full', 'thin'],
    'entries of a list; thin: some hold only the ID, the name and the time of creation',
  ),
  playerTimes: choice(
    'number',
    ['number', 'text'],
    'createTs of a player in answers: a number, or its digits',
  ),
  playersPerPage: quantity(
    500,
    'players',
    'a page of a list of players holds no more, whatever is asked; their number is that of all all the same',
  ),
  listBlindSeconds: quantity(10, 'seconds', 'a new player is missing from lists for this long'),
  listBlind: choice(
    'always',
    ['always', 'at-times'],
    'which lists a new player is missing from meanwhile: all of them, or those of some seconds',
  ),
  playerQuota: quantity(50, 'players', 'how many an app may have at the same time'),
  playerQuotaStatus: choice('429', ['429', '403'], 'HTTP status when there would be more players than that'),
  playerFailRate: quantity(0.02, 'share from 0 to 1', 'players whose stream cannot be played'),
  playerDestroysPerHour: quantity(
    0,
    'players an hour, of each that lives',
    'players that errors of the servers destroy',
  ),
  noticeLossRate: quantity(0, 'share from 0 to 1', 'notifications that are never sent'),
  noticeRepeatRate: quantity(0, 'share from 0 to 1', 'notifications that are sent again though they arrived'),
  noticeDisorderRate: quantity(0, 'share from 0 to 1', 'notifications that come late, behind newer ones'),
} as const
