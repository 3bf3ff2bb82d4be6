import { availableParallelism } from 'node:os';

/** @type {import('jest').Config} */
export default {
  testEnvironment: '<rootDir>/test/support/runner/environment.ts',
  runtime: '<rootDir>/test/support/runner/runtime.ts',
  injectGlobals: false,
  extensionsToTreatAsEsm: ['.ts'],
  transform: {},
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  reporters: ['default', '<rootDir>/test/support/skip-reporter.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
  modulePathIgnorePatterns: ['<rootDir>/.carillon/'],
  testTimeout: 60_000,
  // Tests mostly wait for servers, so two workers keep two cores busy where Jest would start only one.
  maxWorkers: Math.max(2, availableParallelism() - 1),
  // A failed test may leave a server listening, and a run in CI must still end.
  forceExit: process.env.CI === 'true',
};
