import { escapeHtml } from '../../../delivery/content/mime/escape-html.ts';
import type { RawResult } from '../../../platform/http/route.ts';
import type { McpScope } from '../../../platform/auth/grant-caller.ts';
import type { AskingClient } from '../interactions.ts';
import { ALLOW_SCRIPT } from './allow-script.ts';
import { choiceValue, type OwnAccount } from './choices.ts';
import { clientName, denyForm, page } from './page.ts';

export interface ConsentPage {
  /** The path of the interaction. */
  path: string;
  csrf: string;
  /** When the page is shown, signed. */
  shown: string;
  client: AskingClient;
  scopes: readonly McpScope[];
  /** The scopes that the user has granted to the client before. */
  held: readonly McpScope[];
  /** The email address of the signed-in user. */
  email: string;
  accounts: readonly OwnAccount[];
  /** The values of the boxes that are ticked. */
  ticked: ReadonlySet<string>;
  /** Whether the box for reading and sending together is ticked. */
  both: boolean;
  error?: string | undefined;
}

const SCOPES: readonly (readonly [scope: McpScope, text: string])[] = [
  ['mcp:read', 'See your contacts, messages, campaigns, reports and settings.'],
  ['mcp:write', 'Change and delete contacts, lists, templates, campaigns and settings.'],
  ['mcp:send', 'Send email and text messages to anyone, and start campaigns and flows.'],
  ['mcp:inbox', 'Read the mail that other people send to your inboxes.'],
];

/** The name of the box without which mail of strangers is not read by a client that may send. */
export const BOTH = 'read_and_send';

type Asked = Pick<ConsentPage, 'scopes' | 'held'>;

/** Whether the client would be able to read mail of strangers, and to send: by this grant, or by this and another. */
function asksForBoth({ scopes, held }: Asked): boolean {
  const isNew = scopes.includes('mcp:inbox') || scopes.includes('mcp:send');
  const all = [...scopes, ...held];
  return isNew && all.includes('mcp:inbox') && all.includes('mcp:send');
}

/** @param both whether the user lets the client read mail of strangers although it can send */
export function grantedScopes(asked: Asked, both: boolean): McpScope[] {
  if (both || !asksForBoth(asked)) return [...asked.scopes];
  const { scopes, held } = asked;
  const holds = (scope: McpScope) => held.includes(scope);
  // What the client holds is not taken back here, so it does not get the other one.
  const mayRead = holds('mcp:inbox') && !holds('mcp:send');
  const maySend = !holds('mcp:inbox');
  return scopes.filter((scope) => (scope !== 'mcp:inbox' || mayRead) && (scope !== 'mcp:send' || maySend));
}

function aboutClient({ client, path, email }: ConsentPage): string {
  const host =
    client.host === null
      ? 'unknown: the application has registered itself'
      : `<strong>${escapeHtml(client.host)}</strong>`;
  const back = `<strong>${escapeHtml(client.redirectHost)}</strong>${client.isLoopback ? ', a program on this computer' : ''}`;
  return `<p>${clientName(client)} asks for access to your account.</p>
<p class="quiet">The application has chosen this name itself, and nobody has checked it. Continue only if you have just
connected it yourself.</p>
<dl>
<dt>Described by</dt><dd>${host}</dd>
<dt>Afterwards, you return to</dt><dd>${back}</dd>
<dt>You are signed in as</dt><dd><strong>${escapeHtml(email)}</strong>. <a href="${escapeHtml(path)}?sign_in=another">Not you? Sign in as another
user</a></dd>
</dl>`;
}

function scopeList({ scopes }: ConsentPage): string {
  const shown = SCOPES.filter(([scope]) => scopes.includes(scope));
  return `<h2>It may</h2>
<ul>
${shown.map(([, text]) => `<li>${text}</li>`).join('\n')}
</ul>
<p class="quiet">It never gets your password, keys or users, and can do nothing that your own role does not allow.</p>`;
}

function box(name: string, value: string, text: string, isTicked: boolean): string {
  const checked = isTicked ? ' checked' : '';
  return `<label class="choice"><input type="checkbox" name="${name}" value="${escapeHtml(value)}"${checked}> <span>${escapeHtml(text)}</span></label>`;
}

function accountBoxes({ id, name, role, brands }: OwnAccount, ticked: ReadonlySet<string>): string {
  const choices =
    brands.length === 0
      ? [{ value: choiceValue(id, null), text: 'The account, which has no brand yet' }]
      : brands.map((brand) => ({ value: choiceValue(id, brand.id), text: brand.company_name }));
  return `<fieldset>
<legend>${escapeHtml(name)} (your role: ${role})</legend>
${choices.map(({ value, text }) => box('choice', value, text, ticked.has(value))).join('\n')}
</fieldset>`;
}

/** What becomes of the request without the tick. */
function withoutTick(shown: ConsentPage): string {
  const granted = grantedScopes(shown, false);
  if (granted.includes('mcp:send')) return 'it can send, but not read that mail';
  return granted.includes('mcp:inbox')
    ? 'it can read that mail, but not send'
    : 'it gets neither now; what you have allowed before stays';
}

function bothBox(shown: ConsentPage): string {
  if (!asksForBoth(shown)) return '';
  return `<fieldset class="caution">
<legend>Reading the mail of other people</legend>
<p id="both-hint">The application would be able to read mail that anyone can send to you, and to send messages. Such a mail may
contain hidden instructions to the application, such as to forward your data. Without this box, ${withoutTick(shown)}.</p>
${box(BOTH, 'yes', 'Let it read the mail of other people although it can also send', shown.both).replace('<input', '<input aria-describedby="both-hint"')}
</fieldset>`;
}

function allowForm(shown: ConsentPage): string {
  const { path, csrf, accounts, ticked } = shown;
  if (accounts.length === 0) {
    return '<p class="caution">You belong to no account yet. An owner can invite you to one.</p>';
  }
  return `<form method="post" action="${escapeHtml(path)}/consent">
<input type="hidden" name="csrf" value="${csrf}">
<input type="hidden" name="shown" value="${shown.shown}">
<fieldset>
<legend>For which brands?</legend>
<span class="hint">Brands that are added later are not included.</span>
${accounts.map((account) => accountBoxes(account, ticked)).join('\n')}
</fieldset>
${bothBox(shown)}
<button type="submit">Allow access</button>
</form>`;
}

/** Asks whether the client gets access, and to what. Shown at each authorization. */
export function consentPage(shown: ConsentPage): RawResult {
  return page(shown.error === undefined ? 200 : 422, {
    title: 'Allow access to your account?',
    error: shown.error,
    script: shown.accounts.length > 0 ? ALLOW_SCRIPT : '',
    content: [
      aboutClient(shown),
      scopeList(shown),
      allowForm(shown),
      denyForm(shown.path, shown.csrf, 'Deny'),
    ].join('\n'),
  });
}
