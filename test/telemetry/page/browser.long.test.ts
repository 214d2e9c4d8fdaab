import axe from 'axe-core'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { hasBrowser, openBrowser, type SituationName, servePages } from './browser.ts'
import { situations } from './situations.ts'

const names = [...(Object.keys(situations) as (keyof typeof situations)[]), 'thousand-apps' as const]

if (!hasBrowser) process.stderr.write('the page is tried in no browser: apt-get install chromium\n')

describe.skipIf(!hasBrowser)('the page in Chromium', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await openBrowser()
  })
  afterAll(() => browser?.close())

  async function open(name: SituationName, options: BrowserContextOptions = {}, query = '') {
    const pages = await servePages()
    const context = await browser.newContext(options)
    const page = await context.newPage()
    const complaints: string[] = []
    page.on('console', message => message.type() === 'error' && complaints.push(message.text()))
    page.on('pageerror', error => complaints.push(error.message))
    onTestFinished(async () => {
      await context.close()
      await pages.close()
    })
    await page.clock.install()
    await page.goto(`${pages.url(name)}/${query}`)
    return { page, pages, complaints }
  }

  /** Past the policy of the page, which would let no script of ours in. */
  async function findingsOf(page: Page) {
    await page.evaluate(axe.source)
    const { violations } = await page.evaluate(() => (globalThis as unknown as { axe: typeof axe }).axe.run())
    return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`))
  }

  describe.each(names)('%s', name => {
    it.each(['light', 'dark'] as const)('has no finding of axe, in %s', async colorScheme => {
      const { page, complaints } = await open(name, { colorScheme })
      expect(await findingsOf(page)).toEqual([])
      expect(complaints).toEqual([])
    })

    it('has no finding on a phone, and is nowhere wider than it', async () => {
      const { page } = await open(name, { viewport: { width: 360, height: 740 } })
      expect(await findingsOf(page)).toEqual([])
      const [wide, shown] = await page.evaluate(() => {
        const { scrollWidth, clientWidth } = (
          globalThis as unknown as {
            document: { documentElement: { scrollWidth: number; clientWidth: number } }
          }
        ).document.documentElement
        return [scrollWidth, clientWidth]
      })
      expect(wide).toBe(shown)
    })
  })

  it('shows the verdict to those who have no script', async () => {
    const { page } = await open('losing', { javaScriptEnabled: false })
    expect(await page.getByRole('status').textContent()).toContain('Losing data')
  })

  it('comes up to date in place: what has the focus keeps it', async () => {
    const { page, pages } = await open('healthy')
    const verdict = page.getByRole('status')
    expect(await verdict.textContent()).toContain('Well')
    await page.getByRole('combobox', { name: 'Time' }).focus()
    pages.change('healthy', 'database-away')
    await page.clock.runFor(5_000)
    await expect.poll(() => verdict.textContent()).toContain('Stopped')
    expect(await page.title()).toBe('Stopped - Penstock')
    expect(await page.evaluate(`document.activeElement.name`)).toBe('span')
  })

  it('says when the daemon answers no more', async () => {
    const { page, pages } = await open('healthy')
    await pages.stop('healthy')
    await page.clock.runFor(5_000)
    await page.getByText('This daemon does not answer any more').waitFor({ state: 'visible' })
  })

  it('is gone through by keyboard: the way past the links, then what is chosen, by names', async () => {
    const { page } = await open('one-app-behind')
    const focused: string[] = []
    for (let n = 0; n < 6; n++) {
      await page.keyboard.press('Tab')
      focused.push(
        String(await page.evaluate(`document.activeElement.innerText || document.activeElement.name`)).split(
          '\n',
        )[0]!,
      )
    }
    expect(focused).toEqual([
      'To the verdict',
      'this as JSON',
      'metrics',
      'readiness',
      expect.stringContaining('all 5 apps'),
      expect.any(String),
    ])
  })

  it('shows one app where it is chosen', async () => {
    const { page } = await open('one-app-behind')
    await page.getByRole('combobox', { name: 'App' }).selectOption('2c3d4e')
    await page.waitForURL(/app=2c3d4e/)
    expect(await page.getByRole('region', { name: 'Rooms, by how they stand' }).textContent()).toContain(
      '12 rooms',
    )
  })
})
