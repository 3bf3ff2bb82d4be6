import { escapeHtml } from '../../../delivery/content/mime/escape-html.ts';
import type { RawResult } from '../../../platform/http/route.ts';
import { clientName, denyForm, page, passwordFields } from './page.ts';
import type { Visit } from './visit.ts';

/** Why what the user has sent was refused. */
export interface FormError {
  status: number;
  text: string;
  headers?: Record<string, string>;
}

/** What the user has sent, and why it was refused. */
export interface FailedSignIn {
  email: string;
  error: FormError;
}

/** Asks for the password and, always, for a code: whether a user has a second factor is not revealed before. */
export function signInPage({ interaction, path, csrf }: Visit, failed?: FailedSignIn): RawResult {
  const content = `<p>The application ${clientName(interaction.client)} asks for access to your
account. Sign in to see what it asks for. It does not get your password.</p>
<form method="post" action="${escapeHtml(path)}/login">
<input type="hidden" name="csrf" value="${csrf}">
<div class="field">
<label for="email">Email address</label>
<input id="email" name="email" type="email" autocomplete="username" required maxlength="320" value="${escapeHtml(failed?.email ?? '')}">
</div>
${passwordFields}
<button type="submit">Sign in</button>
</form>
${denyForm(path, csrf, 'Cancel')}`;
  const { error } = failed ?? {};
  return page(error?.status ?? 200, {
    title: 'Sign in',
    content,
    error: error?.text,
    headers: error?.headers ?? {},
  });
}
