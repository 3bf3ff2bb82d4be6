// The program `carillon` gives a command the arguments, settings and streams of its process, and exits with its code.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { insertAccount } from '../support/queued.ts';

const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
let made: TestDatabase;
beforeAll(async () => {
  made = await createTestDatabase();
});
afterAll(() => made.drop());

function carillon(args: string[], input = '') {
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--no-warnings', main, ...args], {
    env: { PATH, HOME, NODE_COMPILE_CACHE, DATABASE_URL: made.url },
    encoding: 'utf8',
    input,
  });
  return { status, stdout, stderr };
}

describe('the program carillon', () => {
  it('writes a result to standard output, and exits with 0', () => {
    expect(carillon(['price', 'list'])).toEqual({
      status: 0,
      stdout: 'No prices are set: everything is free.\n',
      stderr: '',
    });
  });

  it('writes its help to standard output, and exits with 0', () => {
    expect(carillon(['--help'])).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('carillon start --dev'),
      stderr: '',
    });
  });

  it('writes an error to standard error, and exits with 1', () => {
    expect(carillon(['mail', 'show', '999999'])).toEqual({
      status: 1,
      stdout: '',
      stderr: 'carillon: there is no mail 999999\n',
    });
  });

  it('writes what is wrong with its arguments to standard error, and exits with 1', () => {
    expect(carillon(['sart'])).toMatchObject({
      status: 1,
      stdout: '',
      stderr: expect.stringContaining("unknown command 'sart'"),
    });
  });

  it('reads standard input', async () => {
    const { accountId } = await insertAccount(made.database);
    const user = ['user', 'add', '--account', String(accountId), '--email', 'ann@acme.test'];
    expect(carillon([...user, '--password-stdin'], 'correct horse\n')).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/password +\(as given\)\n/),
      stderr: '',
    });
  });
});
