import { optional, type RowOf, required, table, telling } from './table.ts'

export const cloudPlayer = table(
  'players.cloud_player',
  'Cloud players as they were listed last; what an entry leaves out stays as it was known',
  {
    within: 'app',
    key: {
      player_id: required.text("The provider's ID of the player"),
    },
    columns: {
      name: optional.text('Unique among the players of a project that live; null of one without a name'),
      uid: telling(
        'uid',
        optional.text(
          'User ID of the player in the channel; null where it has an account instead, or was never told',
        ),
      ),
      account: telling('user', optional.text('User account of the player in the channel')),
      channel_name: optional.text('Channel in which it plays; of a class it is the room_uuid'),
      stream_url: optional.text(
        'Address of what it plays; users, passwords and the values of its query are replaced by a mark',
      ),
      status: optional.text(
        'idle, connecting, running or failed, as the list says; destroyed once it is gone; null while no entry told it',
      ),
      created_at: optional.timestamp("When it was created, by the provider's clock"),
      last_seen_at: optional.timestamp('When a list named it last, our clock'),
      destroyed_at: optional.timestamp(
        'When a complete list first lacked it, our clock, of one that the next complete list lacked too; null while it lives',
      ),
      extra: optional.json('Fields that have no column here, as they came'),
    },
    made: {
      region: optional.text(
        'Region in which it was made, of one that was made with this program; null of others, as lists do not tell it',
      ),
      first_seen_at: required.timestamp('When a list named it first, our clock'),
    },
    onConflict: 'merge',
    except: { destroyed_at: 'replace', status: 'alive' },
  },
)
export type CloudPlayerRow = RowOf<typeof cloudPlayer>

export const cloudPlayerChange = table(
  'players.cloud_player_change',
  'How the status of each player changed, as far as lists showed it',
  {
    within: 'app',
    key: {
      player_id: required.text("The provider's ID of the player"),
      changed_at: required.timestamp(
        'When a list first showed it, our clock, and after the change before it; it happened since the list before',
      ),
    },
    columns: {
      from_status: optional.text('Null at first sight'),
      to_status: required.text('destroyed for one that is gone'),
      source: required.text<'list'>('list: the list showed it'),
    },
    onConflict: 'keep',
  },
)
export type CloudPlayerChangeRow = RowOf<typeof cloudPlayerChange>

export const playersTables = [cloudPlayer, cloudPlayerChange]
