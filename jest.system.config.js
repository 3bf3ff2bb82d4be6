import { availableParallelism } from 'node:os';
import { reporters, shared } from './jest.config.js';

/**
 * The tests that end whole processes, start Carillon as a user does, fuzz, measure time or wait for it.
 * @type {import('jest').Config}
 */
export default {
  ...shared,
  testMatch: ['<rootDir>/test/**/*.system.test.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
  // They wait for programs to start, for retries and for browsers, so that two workers leave a fifth of two cores idle.
  maxWorkers: Math.max(3, availableParallelism()),
  testTimeout: 60_000,
  reporters: reporters('test:system'),
};
