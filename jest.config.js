import { availableParallelism } from 'node:os';

/** @type {import('jest').Config} */
export default {
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        jsc: { parser: { syntax: 'typescript' }, target: 'es2024' },
        module: { type: 'es6' },
      },
    ],
  },
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  reporters: ['default', '<rootDir>/test/support/skip-reporter.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
  modulePathIgnorePatterns: ['<rootDir>/.carillon/'],
  testTimeout: 60_000,
  // Tests mostly wait for servers, so two workers keep two cores busy where Jest would start only one.
  maxWorkers: Math.max(2, availableParallelism() - 1),
  // Modules of finished test files are never freed: without a limit, the last hundred files run with 4 GB of garbage, and
  // stall for so long that tests reach their time limits.
  workerIdleMemoryLimit: '1500MB',
  // A failed test may leave a server listening, and a run in CI must still end.
  forceExit: process.env.CI === 'true',
};
