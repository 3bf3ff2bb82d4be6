import { reporters, shared } from './jest.config.js';

/**
 * The tests that end whole processes, start Carillon as a user does, fuzz, measure time or wait for it.
 * @type {import('jest').Config}
 */
export default {
  ...shared,
  testMatch: ['<rootDir>/test/**/*.system.test.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
  testTimeout: 60_000,
  reporters: reporters('test:system'),
};
