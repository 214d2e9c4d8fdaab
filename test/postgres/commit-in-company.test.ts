import { describe } from 'vitest'
import { company } from './harness.ts'

describe('what holds of a page holds in a group', async () => {
  company.isKept = true
  describe('log', () => import('./commit-log.test.ts').then(() => {}))
  describe('list', () => import('./commit-list.test.ts').then(() => {}))
  describe('replaced', () => import('./commit-replaced.test.ts').then(() => {}))
  describe('room', () => import('./room-life.test.ts').then(() => {}))
  describe('odd texts', () => import('./encode.test.ts').then(() => {}))
  describe('beside each other', () => import('./concurrency.test.ts').then(() => {}))
})
