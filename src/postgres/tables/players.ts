import type { PlayersTables } from '../../rows/players.ts'
import type { Specs } from './spec.ts'

export const playersTables: Specs<PlayersTables> = {
  'players.cloud_player': {
    within: 'app',
    key: ['player_id'],
    columns: {
      player_id: 'text',
      name: 'text',
      uid: 'text',
      account: 'text',
      channel_name: 'text',
      stream_url: 'text',
      status: 'text',
      created_at: 'timestamptz',
      last_seen_at: 'timestamptz',
      destroyed_at: 'timestamptz',
      extra: 'jsonb',
    },
    onConflict: 'merge',
    except: { destroyed_at: 'replace', status: 'alive' },
  },
  // The statement that writes it looks at what is stored of the player: commit/players.ts.
  'players.cloud_player_change': {
    within: 'app',
    key: ['player_id', 'changed_at'],
    columns: {
      player_id: 'text',
      changed_at: 'timestamptz',
      from_status: 'text',
      to_status: 'text',
      source: 'text',
    },
    onConflict: 'keep',
  },
}
