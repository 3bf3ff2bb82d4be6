import { escapeHtml } from '../../../delivery/mime/escape-html.ts';
import type { RawResult } from '../../../platform/http/route.ts';
import { page } from './page.ts';

export interface SignInPage {
  /** The path of the interaction. */
  path: string;
  csrf: string;
  /** The name that the client gives itself. */
  clientName: string;
  /** What the user has typed before. */
  email: string;
  error?: { status: number; text: string; headers?: Record<string, string> | undefined } | undefined;
}

/** Asks for the password and, always, for a code: whether a user has a second factor is not revealed before. */
export function signInPage({ path, csrf, clientName, email, error }: SignInPage): RawResult {
  const content = `<p>The application <strong>${escapeHtml(clientName)}</strong> <span class="mark">unverified</span> asks for access to your
account. Sign in to see what it asks for. Your password is not given to it.</p>
<form method="post" action="${escapeHtml(path)}/login">
<input type="hidden" name="csrf" value="${escapeHtml(csrf)}">
<div class="field">
<label for="email">Email address</label>
<input id="email" name="email" type="email" autocomplete="username" required maxlength="320" value="${escapeHtml(email)}">
</div>
<div class="field">
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required maxlength="1024">
</div>
<div class="field">
<label for="otp">Code of your authenticator app</label>
<span class="hint" id="otp-hint">Leave this empty if your sign-in has no second factor. A recovery code works, too.</span>
<input id="otp" name="otp" autocomplete="one-time-code" maxlength="100" aria-describedby="otp-hint">
</div>
<button type="submit">Sign in</button>
</form>
<form method="post" action="${escapeHtml(path)}/deny">
<input type="hidden" name="csrf" value="${escapeHtml(csrf)}">
<button type="submit" class="other">Cancel</button>
</form>`;
  return page(error?.status ?? 200, {
    title: 'Sign in',
    content,
    error: error?.text,
    headers: error?.headers ?? {},
  });
}
