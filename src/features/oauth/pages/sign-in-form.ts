import { AppError } from '../../../errors.ts';
import type { RawResult } from '../../../platform/http/route.ts';
import { loginBody } from '../../sessions/schema.ts';
import type { SignIn } from '../../sessions/service.ts';
import { redirectTo } from './page.ts';
import { signInPage } from './sign-in.ts';
import type { Visit } from './visit.ts';

const INCOMPLETE = 'Enter your email address and your password.';

/** What is wrong, for the user; the API names its fields instead. */
function textOf({ code, message }: AppError, otp: string): string {
  if (code === 'unauthorized') return 'The email address or the password is wrong.';
  if (code === 'rate_limited') return `There were t${message.slice(1)}.`;
  if (code === 'otp_required' && otp === '') {
    return 'Enter your password once more, with the code of your authenticator app.';
  }
  if (code === 'otp_required') {
    return 'The code is wrong or was already used. Enter your password once more, with a new code.';
  }
  return message;
}

/** Signs the user in, and shows the request for access. */
export async function signInWith(signIn: SignIn, visit: Visit, form: URLSearchParams): Promise<RawResult> {
  const email = form.get('email')?.trim() ?? '';
  const otp = form.get('otp')?.trim() ?? '';
  const given = loginBody.shape.user.safeParse({
    email,
    password: form.get('password') ?? '',
    otp: otp === '' ? undefined : otp,
  });
  if (!given.success) return signInPage(visit, { email, error: { status: 422, text: INCOMPLETE } });
  try {
    const { headers } = await signIn(visit.input.ctx.req, given.data, 'cookie');
    return redirectTo(visit.path, { 'Set-Cookie': headers['Set-Cookie'] ?? '' });
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const { status, headers } = error;
    return signInPage(visit, { email, error: { status, text: textOf(error, otp), headers } });
  }
}
