import {
  CLIENT_CAPABILITIES_META_KEY,
  createRequestStateCodec,
  inputRequired,
  inputResponse,
  type CallToolResult,
  type InputRequiredResult,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import { AppError } from '../../errors.ts';
import { fingerprintOf } from '../../platform/db/idempotency.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { Keyring, Subkey } from '../../platform/secrets/keyring.ts';
import {
  createOneTimeToken,
  digestOfToken,
  type OneTimeToken,
} from '../../platform/secrets/one-time-token.ts';
import type { Confirmations } from './call.ts';
import { refusalOf } from './results.ts';

const MINUTES = 10;
/** The name of our question among the input requests of a call. */
const QUESTION = 'confirmation';

type CallToConfirm = Parameters<Confirmations['require']>[0];

/** What the signed state says. `id` is the token under which the answer is used once. */
const stateSchema = z.strictObject({ grant: z.int(), tool: z.string(), args: z.string(), id: z.string() });
type State = z.infer<typeof stateSchema>;

/** The account and brand are among the arguments, so a confirmation is useless after another selection. */
const digestOf = (args: CallToConfirm['args']): Buffer => fingerprintOf(args);

/** What a client declares if it can show questions. */
const questionsSchema = z.object({
  [CLIENT_CAPABILITIES_META_KEY]: z.object({
    elicitation: z.object({ form: z.unknown(), url: z.unknown() }).partial(),
  }),
});

/** Whether the client can show a form. Only requests of 2026 declare what their client can do. */
function canAsk({ mcpReq }: ServerContext): boolean {
  const { data } = questionsSchema.safeParse(mcpReq.envelope);
  if (!data) return false;
  const { form, url } = data[CLIENT_CAPABILITIES_META_KEY].elicitation;
  // Without either, the client means forms, which are older than questions by URL.
  return form !== undefined || url === undefined;
}

/** Signs states with the current secret, and accepts those of the previous ones. */
function createStates(keyring: Pick<Keyring, 'subkey' | 'accepted'>) {
  const codecOf = ({ key }: Subkey) => createRequestStateCodec<State>({ key, ttlSeconds: MINUTES * 60 });
  const current = codecOf(keyring.subkey('mcp'));
  const accepted = keyring.accepted('mcp').map(codecOf);
  return {
    sign: (state: State): Promise<string> => current.mint(state),
    /** @returns null if no key has signed it, or if it has expired */
    verify: (state: string, ctx: ServerContext): Promise<State | null> =>
      Promise.any(accepted.map((codec) => codec.verify(state, ctx))).catch(() => null),
  };
}

async function insertCode(db: Queryable, call: CallToConfirm, { digest }: OneTimeToken): Promise<Date> {
  const { rows } = await db.query<{ expires_at: Date }>(
    `insert into mcp_confirmations (digest, grant_id, tool, arguments_digest, expires_at)
     values ($1, $2, $3, $4, now() + make_interval(mins => $5)) returning expires_at`,
    [digest, call.grantId, call.tool, digestOf(call.args), MINUTES],
  );
  return (rows[0] as { expires_at: Date }).expires_at;
}

/** @returns false if the code is unknown, expired, used, or for another call */
async function takeCode(db: Queryable, call: CallToConfirm, digest: Buffer): Promise<boolean> {
  const { rowCount } = await db.query(
    `update mcp_confirmations set used_at = now()
     where digest = $1 and grant_id = $2 and tool = $3 and arguments_digest = $4
       and used_at is null and expires_at > now()`,
    [digest, call.grantId, call.tool, digestOf(call.args)],
  );
  return rowCount === 1;
}

/** Records that the answer to a question was used. @returns false if it already was */
async function takeAnswer(db: Queryable, call: CallToConfirm, digest: Buffer): Promise<boolean> {
  const { rowCount } = await db.query(
    `insert into mcp_confirmations (digest, grant_id, tool, arguments_digest, expires_at, used_at)
     values ($1, $2, $3, $4, now() + make_interval(mins => $5), now()) on conflict do nothing`,
    [digest, call.grantId, call.tool, digestOf(call.args), MINUTES],
  );
  return rowCount === 1;
}

/** What the user answered; `none` if this call was not answered yet. */
function answerTo(call: CallToConfirm, state: State | null): 'yes' | 'no' | 'none' {
  const isThisCall =
    state?.grant === call.grantId &&
    state.tool === call.tool &&
    state.args === digestOf(call.args).toString('base64url');
  const answer = inputResponse(call.ctx.mcpReq.inputResponses, QUESTION);
  if (!isThisCall || answer.kind !== 'elicit') return 'none';
  return answer.action === 'accept' && answer.content?.['confirm'] === true ? 'yes' : 'no';
}

/**
 * Asks by elicitation, if the client can show a question, or else by a code that the assistant repeats. Either confirms
 * one call with exactly these arguments, once, within ten minutes. An assistant may repeat the code without asking
 * anyone, so this protects from mistakes, and not from instructions in what the assistant reads.
 */
export function createConfirmations(
  db: Queryable,
  keyring: Pick<Keyring, 'subkey' | 'accepted'>,
): Confirmations & {
  /**
   * Checks the state that a client repeats with the answer of its user; for `ServerOptions.requestState.verify`.
   * @returns null if we have not signed it, or if it has expired: the user is then asked again
   */
  verifyState(state: string, ctx: ServerContext): Promise<unknown>;
} {
  const states = createStates(keyring);

  async function ask(call: CallToConfirm): Promise<InputRequiredResult> {
    const requestState = await states.sign({
      grant: call.grantId,
      tool: call.tool,
      args: digestOf(call.args).toString('base64url'),
      id: createOneTimeToken().token,
    });
    const confirm = {
      type: 'boolean' as const,
      title: 'Yes, do this',
      description: 'Without it, nothing happens.',
    };
    const question = inputRequired.elicit({
      message: `${call.summary}?`,
      requestedSchema: { type: 'object', properties: { confirm }, required: ['confirm'] },
    });
    return inputRequired({ inputRequests: { [QUESTION]: question }, requestState });
  }

  async function requireAnswer(call: CallToConfirm): Promise<'go on' | CallToolResult | InputRequiredResult> {
    // Not a state if the client sent none, or one that `verifyState` refused or was not asked about.
    const state = stateSchema.safeParse(call.ctx.mcpReq.requestState()).data ?? null;
    const answer = answerTo(call, state);
    if (answer === 'no')
      return refusalOf(new AppError('forbidden', 'the user did not agree: nothing was done'));
    const digest = answer === 'yes' && state ? digestOfToken(state.id) : null;
    return digest && (await takeAnswer(db, call, digest)) ? 'go on' : ask(call);
  }

  async function requireCode(call: CallToConfirm): Promise<'go on' | CallToolResult> {
    const { confirmation, summary } = call;
    const digest = confirmation === null ? null : digestOfToken(confirmation);
    if (digest && (await takeCode(db, call, digest))) return 'go on';
    const code = createOneTimeToken();
    const expiresAt = await insertCode(db, call, code);
    const mistake =
      confirmation === null
        ? ''
        : 'This confirmation was used, has expired, or is for a call with other arguments. ';
    const message =
      `${mistake}Show the user what would happen: "${summary}". If they agree, repeat the call with the same ` +
      `arguments and this "confirmation", which is valid once, for ${MINUTES} minutes. Nothing was done yet.`;
    const more = { summary, confirmation: code.token, expires_at: expiresAt.toISOString() };
    return refusalOf(new AppError('confirmation_required', message), more);
  }

  return {
    verifyState: states.verify,
    require: (call) => (canAsk(call.ctx) ? requireAnswer(call) : requireCode(call)),
  };
}
