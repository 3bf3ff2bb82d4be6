import type { Tool } from '@modelcontextprotocol/server';
import type pg from 'pg';
import { z } from 'zod';
import { notFound } from '../../errors.ts';
import type { GrantCaller, GrantedAccount, GrantSelection } from '../../platform/auth/grant-caller.ts';
import { selectForGrant } from '../oauth/index.ts';
import { parseArguments } from './requests.ts';

/** The account and brand that calls use unless they name a brand. */
interface Selected {
  account: { id: number; name: string; role: string };
  brand: { id: number; name: string } | null;
}

interface SelectionTool {
  tool: Tool;
  /** @throws AppError `validation_error`; `not_found` for what the user did not tick or may no longer use */
  run(db: pg.Pool, caller: GrantCaller, args: unknown): Promise<Ran>;
}

interface Ran {
  content: Record<string, unknown>;
  /** What was selected, for the log. */
  target: GrantSelection | null;
}

const idSchema = { type: 'integer', minimum: 1 };
const idArgument = z.int().positive();

function selectedOf(choices: readonly GrantedAccount[], selection: GrantSelection | null): Selected | null {
  const account = choices.find(({ accountId }) => accountId === selection?.accountId);
  if (!account) return null;
  const { accountId: id, accountName: name, role } = account;
  return {
    account: { id, name, role },
    brand: account.brands.find((brand) => brand.id === selection?.brandId) ?? null,
  };
}

async function select(db: pg.Pool, caller: GrantCaller, selection: GrantSelection): Promise<Ran> {
  await selectForGrant(db, caller.grantId, selection);
  return { content: { selected: selectedOf(caller.choices, selection) }, target: selection };
}

const changing = { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false };

const whoami: SelectionTool = {
  tool: {
    name: 'whoami',
    title: 'Who am I',
    description:
      'Shows the user for whom you act, what the user allowed you to do (scopes), the accounts and brands that you may ' +
      'use, and which of them is selected.',
    inputSchema: { type: 'object', properties: {}, additionalProperties: false },
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
  async run(db, caller, args) {
    parseArguments(z.strictObject({}), args);
    const { rows } = await db.query<{ id: number; email: string }>(
      'select id, email from users where id = $1',
      [caller.userId],
    );
    const content = {
      user: rows[0] ?? null,
      scopes: [...caller.scopes],
      selected: selectedOf(caller.choices, caller.selected),
      accounts: caller.choices.map(({ accountId: id, accountName: name, role, brands }) => ({
        id,
        name,
        role,
        brands,
      })),
    };
    return { content, target: null };
  },
};

const selectAccount: SelectionTool = {
  tool: {
    name: 'select_account',
    title: 'Select an account',
    description:
      'Selects the account that later calls use, and its brand if it has only one; see whoami. A brand_id in a call ' +
      'overrides the selection.',
    inputSchema: {
      type: 'object',
      properties: { account_id: idSchema },
      required: ['account_id'],
      additionalProperties: false,
    },
    annotations: changing,
  },
  async run(db, caller, args) {
    const { account_id: accountId } = parseArguments(z.strictObject({ account_id: idArgument }), args);
    const account = caller.choices.find((choice) => choice.accountId === accountId);
    if (!account) throw notFound('account');
    const [only, ...others] = account.brands;
    return select(db, caller, { accountId, brandId: only && others.length === 0 ? only.id : null });
  },
};

const selectBrand: SelectionTool = {
  tool: {
    name: 'select_brand',
    title: 'Select a brand',
    description: 'Selects the brand that later calls use, and its account; see whoami.',
    inputSchema: {
      type: 'object',
      properties: { brand_id: idSchema },
      required: ['brand_id'],
      additionalProperties: false,
    },
    annotations: changing,
  },
  async run(db, caller, args) {
    const { brand_id: brandId } = parseArguments(z.strictObject({ brand_id: idArgument }), args);
    const account = caller.choices.find(({ brands }) => brands.some(({ id }) => id === brandId));
    if (!account) throw notFound('brand');
    return select(db, caller, { accountId: account.accountId, brandId });
  },
};

const byName = new Map([whoami, selectAccount, selectBrand].map((each) => [each.tool.name, each]));

/** As `tools/list` shows them, to everyone: they need no scope. */
export const selectionTools: readonly Tool[] = [...byName.values()].map(({ tool }) => tool);

/** @returns null if the tool is another one */
export const findSelectionTool = (name: string): SelectionTool | null => byName.get(name) ?? null;
