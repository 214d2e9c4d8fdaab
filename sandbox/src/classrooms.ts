import type { Classroom, Pupil } from './classroom.ts'
import type { Room } from './world.ts'

/** Whoever plays a class: a profile decides what its people do when something is set from outside. */
export interface Led {
  readonly classroom: Classroom
  /** The class begins, and with it whatever happens in it. */
  start(now: number): void
  /** The class is over; `state` is ended or closed. */
  finish(now: number, state: number): void
  /** Someone who was put out may come back from then on. */
  expect(pupil: Pupil, from: number): void
}

/** Every room with the class behind it, which may be made up when someone first needs it. */
export class Classrooms {
  readonly #led = new WeakMap<Room, () => Led>()

  hold(room: Room, led: () => Led): void {
    this.#led.set(room, led)
  }

  /** Throws where nobody plays the room. */
  of(room: Room): Led {
    const led = this.#led.get(room)
    if (!led) throw new Error(`nobody plays the room ${room.uuid}`)
    return led()
  }
}
