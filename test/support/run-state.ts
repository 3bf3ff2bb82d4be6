import type { TestServices } from './test-services.ts';

let running: TestServices | undefined;

/** Global start and end are two modules of one process. */
export function keepForTeardown(services: TestServices): void {
  running = services;
}

/** @returns what the global start left, once */
export function takeForTeardown(): TestServices | undefined {
  const services = running;
  running = undefined;
  return services;
}
