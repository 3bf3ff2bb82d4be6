// A test that sends a statement unlike its file in docs/sql fails.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { checkSentStatements, ignoreStatements } from './sent-statements.ts';

let test: TestDatabase;

beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());

const send = (name: string, text: string) => test.database.pool.query({ name, text });

describe('what tests send to PostgreSQL', () => {
  it('must be the text in docs/sql', async () => {
    await send('publish_events', 'select 1');
    expect(checkSentStatements).toThrow('publish_events is sent with another text than that of its file');
    expect(checkSentStatements).not.toThrow();
  });

  it('must be one text for each name', async () => {
    await send('two_texts', 'select 1');
    expect(checkSentStatements).not.toThrow();
    await expect(send('two_texts', 'select 2')).rejects.toThrow('must be unique');
    expect(checkSentStatements).toThrow('two_texts is sent with two texts');
  });

  it('may differ in a test that composes a statement of parts of its own', async () => {
    ignoreStatements('publish_events');
    await send('publish_events', 'select 1');
    expect(checkSentStatements).not.toThrow();
  });
});
