import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openBrowser, servePages } from './browser.ts'
import { situations } from './situations.ts'

/* Takes the pictures of docs/screens: npm run screens [FOLDER]. */

const folder = process.argv[2] ?? 'docs/screens'
const pictures = [
  ...(Object.keys(situations) as (keyof typeof situations)[]).map(
    name => ({ name, situation: name, colorScheme: 'light', width: 1_100, height: 760 }) as const,
  ),
  { name: 'dark', situation: 'healthy', colorScheme: 'dark', width: 1_100, height: 760 },
  { name: 'phone', situation: 'losing', colorScheme: 'light', width: 390, height: 760 },
] as const

const pages = await servePages()
const browser = await openBrowser()
await mkdir(folder, { recursive: true })
for (const { name, situation, colorScheme, width, height } of pictures) {
  const page = await browser.newPage({ colorScheme, viewport: { width, height } })
  await page.goto(`${pages.url(situation)}/`)
  await writeFile(
    join(folder, `${name}.png`),
    await page.screenshot({ fullPage: process.argv[3] === 'whole' }),
  )
  await page.close()
}
await browser.close()
await pages.close()
