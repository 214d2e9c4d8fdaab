import { afterAll, beforeAll, describe } from 'vitest'
import { company } from './harness.ts'

describe('what holds of a page holds in a group', () => {
  beforeAll(() => {
    company.isKept = true
  })
  afterAll(() => {
    company.isKept = false
  })
  describe('log', () => again('commit-log'))
  describe('list', () => again('commit-list'))
  describe('told otherwise', () => again('told-otherwise'))
  describe('replaced', () => again('commit-replaced'))
  describe('room', () => again('room-life'))
  describe('odd texts', () => again('encode'))
  describe('beside each other', () => again('concurrency'))
})

/** Registers the tests of a file once more: files share their modules, and under this name it is another one. */
async function again(name: string): Promise<void> {
  await import(`./${name}.test.ts?in-company`)
}
