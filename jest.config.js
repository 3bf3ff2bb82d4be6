import { availableParallelism } from 'node:os';
import { join } from 'node:path';

// The workers of Jest, and the programs that tests start, load a module faster if another process has compiled it.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, 'node_modules/.cache/compiled');

/** @param suite the npm script that runs the suite */
export const reporters = (suite) => [
  'default',
  '<rootDir>/test/support/skip-reporter.ts',
  ['<rootDir>/test/support/cost-reporter.ts', { suite }],
];

/** What both suites have in common: `npm test`, and `npm run test:system` (jest.system.config.js). */
export const shared = {
  rootDir: import.meta.dirname,
  testEnvironment: '<rootDir>/test/support/runner/environment.ts',
  runtime: '<rootDir>/test/support/runner/runtime.ts',
  testSequencer: '<rootDir>/test/support/runner/sequencer.ts',
  injectGlobals: false,
  extensionsToTreatAsEsm: ['.ts'],
  transform: {},
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
  modulePathIgnorePatterns: ['<rootDir>/.carillon/'],
  // Tests mostly wait for servers, so two workers keep two cores busy where Jest would start only one.
  maxWorkers: Math.max(2, availableParallelism() - 1),
  // A failed test may leave a server listening, and a run in CI must still end.
  forceExit: process.env.CI === 'true',
};

/** @type {import('jest').Config} */
export default {
  ...shared,
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/', '[.]system[.]test[.]ts$'],
  testTimeout: 60_000,
  reporters: reporters('test'),
};
