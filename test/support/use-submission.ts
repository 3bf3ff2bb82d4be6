/** A listener of the role `submission` that the tests of a file share. */
import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals';
import type { SubmissionListenerOptions } from '../../src/delivery/wire/submission/listener.ts';
import { createTestTenant, type TestTenant } from './api.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { type SmtpDialogue, startTlsDialogue } from './smtp-dialogue.ts';
import { logIn, startTestSubmission, type TestSubmission } from './submission.ts';

/** What the tests of a file share; see {@link useSubmission}. */
export interface SubmissionStage {
  readonly test: TestDatabase;
  readonly tenant: TestTenant;
  /** Has accepted nothing when a test begins. */
  readonly submission: TestSubmission;
  /** Starts another listener, which ends with the test. */
  start(options: Partial<SubmissionListenerOptions>): Promise<TestSubmission>;
  /** A client that has logged in over TLS. @throws Error if its login is refused */
  loggedIn(at?: TestSubmission, key?: string): Promise<SmtpDialogue>;
}

/** Gives the tests of a file a database with a tenant, and a listener. */
export function useSubmission(): SubmissionStage {
  let test: TestDatabase;
  let tenant: TestTenant;
  let submission: TestSubmission;
  let opened: TestSubmission[] = [];
  beforeAll(async () => {
    test = await createTestDatabase({ poolMax: 4 });
    tenant = await createTestTenant(test.database, 'Acme');
    submission = await startTestSubmission(test.database.pool);
  });
  beforeEach(() => {
    submission.taken.length = 0;
  });
  afterEach(async () => {
    for (const one of opened) await one.stop();
    opened = [];
  });
  afterAll(async () => {
    await submission.stop();
    await test.drop();
  });
  return {
    get test() {
      return test;
    },
    get tenant() {
      return tenant;
    },
    get submission() {
      return submission;
    },
    async start(options) {
      const started = await startTestSubmission(test.database.pool, options);
      opened.push(started);
      return started;
    },
    async loggedIn(at = submission, key = tenant.apiKey) {
      const client = await startTlsDialogue(at.tlsPort);
      const reply = await logIn(client, key);
      if (!reply.startsWith('235 ')) throw new Error(`the login is refused: ${reply}`);
      return client;
    },
  };
}
