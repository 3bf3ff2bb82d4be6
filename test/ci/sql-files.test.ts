// The comment at the top of a .sql file must say what its reader has to know.
import { describe, expect, it } from '@jest/globals';
import { findSqlFaults, headerFaults } from './sql-files.ts';

const code = 'export async function releaseClaims() {}\nclass Claims {\n  async #give() {}\n}\n';

const faultsOf = (source: string, path = 'src/x/release_claims.sql') =>
  headerFaults(path, source, code, ['take_messages']).map((fault) => fault.slice(path.length + 1));

const statement = `-- Gives claims back. Leaves their messages as they are,
-- whatever they are.
--
-- sent by: releaseClaims, give
-- $1 bigint: the process
-- $2 bigint[]: the messages, in the order
--   of their ids
-- locks: send_queue, in the order of the messages
update send_queue set owner = null where owner = $1 and message_id = any($2) -- not $3
`;

const made = `-- Gives claims back.
--
-- called by: take_messages
-- process: the process
-- ids: the messages
-- locks: send_queue
-- sees: nothing else
create function release_claims(process bigint, in ids bigint[], out n numeric(10, 2))
language sql as $$ select 1 $$;
`;

const without = (source: string, line: string) =>
  source
    .split('\n')
    .filter((each) => !each.startsWith(`-- ${line}`))
    .join('\n');

describe('a .sql file', () => {
  it('is in order if it is complete', () => {
    expect(faultsOf(statement)).toEqual([]);
    expect(faultsOf(made)).toEqual([]);
    expect(faultsOf(made.replace('-- locks', '-- partitions: updates messages\n-- locks'))).toEqual([]);
  });

  it('opens with a sentence', () => {
    expect(faultsOf(statement.replace('whatever they are.', 'whatever'))).toEqual([
      'does not open with a sentence that says what it does.',
    ]);
  });

  it('names what sends it', () => {
    expect(faultsOf(without(statement, 'sent by'))).toEqual(['lacks "sent by" and "called by".']);
    expect(faultsOf(statement.replace('releaseClaims, give', 'releaseBlocks'))).toEqual([
      'is sent by releaseBlocks, which does not exist.',
    ]);
    expect(faultsOf(made.replace('take_messages', 'take_blocks'))).toEqual([
      'is called by take_blocks, which does not exist.',
    ]);
  });

  it('describes each parameter', () => {
    expect(faultsOf(without(statement, '$1'))).toEqual(['lacks "$1".']);
    expect(faultsOf(statement.replace('any($2)', 'any($2) and $12'))).toEqual(['lacks "$12".']);
    expect(faultsOf(without(made, 'ids'))).toEqual(['lacks "ids".']);
    expect(faultsOf(made.replace('process bigint', 'owner bigint'))).toEqual([
      'lacks "owner".',
      'has "process", which is unknown.',
    ]);
  });

  it('says what it locks and, if it is a function, what its queries see', () => {
    expect(faultsOf(without(statement, 'locks'))).toEqual(['lacks "locks".']);
    expect(faultsOf(without(made, 'sees'))).toEqual(['lacks "sees".']);
  });

  it('has nothing that would be dropped', () => {
    expect(faultsOf(statement.replace('-- locks', '-- and more\n-- locks'))).toEqual([
      'has a line without a label: and more.',
    ]);
  });

  it('has no exception block', () => {
    const block = `begin\n  perform 1;\nexception\n  when others then null;\nend`;
    expect(faultsOf(made.replace('select 1', block))).toEqual([
      'has an EXCEPTION block, which costs a subtransaction.',
    ]);
    expect(faultsOf(made.replace('select 1', `raise exception 'when' using errcode = 'CL020'`))).toEqual([]);
  });

  it('has a short name', () => {
    expect(faultsOf(statement, `src/x/${'a'.repeat(55)}.sql`)).toHaveLength(1);
  });
});

it('is in order everywhere', async () => {
  expect(await findSqlFaults()).toEqual([]);
});
