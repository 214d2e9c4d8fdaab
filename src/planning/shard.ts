/** Shard of an app, 0 to `shards` - 1: the same in every process and every release (FNV-1a over UTF-16 units). */
export function shardOf(app: string, shards: number): number {
  let sum = 0x811c9dc5
  for (let i = 0; i < app.length; i++) sum = Math.imul(sum ^ app.charCodeAt(i), 0x01000193)
  return (sum >>> 0) % shards
}
