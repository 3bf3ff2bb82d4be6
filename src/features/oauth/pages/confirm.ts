import { escapeHtml } from '../../../delivery/content/mime/escape-html.ts';
import type { RawResult } from '../../../platform/http/route.ts';
import { clientName, denyForm, page, passwordFields } from './page.ts';
import type { FormError } from './sign-in.ts';
import type { Visit } from './visit.ts';

/** Asks a signed-in user for the password once more. @param email the user's */
export function confirmPage(
  { interaction, path, csrf }: Visit,
  email: string,
  error: Partial<FormError> = {},
): RawResult {
  const content = `<p>The application ${clientName(interaction.client)} asks for access to your
account. You gave your password more than 15 minutes ago: give it again to see what it asks for. The application does not
get it.</p>
<dl>
<dt>You are signed in as</dt><dd><strong>${escapeHtml(email)}</strong>. <a href="${escapeHtml(path)}?sign_in=another">Not you? Sign in as another
user</a></dd>
</dl>
<form method="post" action="${escapeHtml(path)}/confirm">
<input type="hidden" name="csrf" value="${csrf}">
${passwordFields}
<button type="submit">Continue</button>
</form>
${denyForm(path, csrf, 'Cancel')}`;
  return page(error.status ?? 200, {
    title: 'Give your password again',
    content,
    error: error.text,
    headers: error.headers ?? {},
  });
}
