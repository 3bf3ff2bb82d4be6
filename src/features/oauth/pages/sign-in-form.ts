import { AppError } from '../../../errors.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import type { RawResult } from '../../../platform/http/route.ts';
import { confirmBody, loginBody } from '../../sessions/schema.ts';
import type { ConfirmSession, SignIn } from '../../sessions/service.ts';
import { getUser } from '../../users/service.ts';
import { confirmPage } from './confirm.ts';
import { redirectTo } from './page.ts';
import { type FormError, signInPage } from './sign-in.ts';
import type { Visit } from './visit.ts';

const INCOMPLETE = { status: 422, text: 'Enter your email address and your password.' };
const NO_PASSWORD = { status: 422, text: 'Enter your password.' };

/** The fields of `passwordFields`. */
function passwordOf(form: URLSearchParams) {
  const otp = form.get('otp')?.trim() ?? '';
  return { password: form.get('password') ?? '', otp: otp === '' ? undefined : otp };
}

/** What is wrong, for the user; the API names its fields instead. @param wrong what to say of wrong credentials */
function errorOf({ code, message, status, headers }: AppError, hasCode: boolean, wrong: string): FormError {
  const texts: Partial<Record<AppError['code'], string>> = {
    unauthorized: wrong,
    rate_limited: `There were t${message.slice(1)}.`,
    otp_required: hasCode
      ? 'The code is wrong or was already used. Enter your password once more, with a new code.'
      : 'Enter your password once more, with the code of your authenticator app.',
  };
  return { status, text: texts[code] ?? message, headers };
}

/** Does what a form asks for, and shows the request for access with the new session. */
async function enter(
  visit: Visit,
  work: () => Promise<Record<string, string>>,
  refuse: (error: AppError) => RawResult | Promise<RawResult>,
): Promise<RawResult> {
  try {
    const headers = await work();
    return redirectTo(visit.path, { 'Set-Cookie': headers['Set-Cookie'] ?? '' });
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return refuse(error);
  }
}

/** Signs the user in, and shows the request for access. */
export async function signInWith(signIn: SignIn, visit: Visit, form: URLSearchParams): Promise<RawResult> {
  const email = form.get('email')?.trim() ?? '';
  const given = loginBody.shape.user.safeParse({ email, ...passwordOf(form) });
  if (!given.success) return signInPage(visit, { email, error: INCOMPLETE });
  const { data } = given;
  return enter(
    visit,
    async () => (await signIn(visit.input.ctx.req, data, 'cookie')).headers,
    (error) =>
      signInPage(visit, {
        email,
        error: errorOf(error, data.otp !== undefined, 'The email address or the password is wrong.'),
      }),
  );
}

/** Confirms the user's session by the password, and shows the request for access. */
export async function confirmWith(
  { db, confirm }: { db: Queryable; confirm: ConfirmSession },
  visit: Visit,
  form: URLSearchParams,
): Promise<RawResult> {
  const { session } = visit;
  if (session === null) return signInPage(visit);
  const again = async (error: FormError) =>
    confirmPage(visit, (await getUser(db, session.userId)).email, error);
  const given = confirmBody.safeParse(passwordOf(form));
  if (!given.success) return again(NO_PASSWORD);
  const { data } = given;
  return enter(
    visit,
    async () => (await confirm(visit.input.ctx.req, session, data)).headers,
    (error) => again(errorOf(error, data.otp !== undefined, 'The password is wrong.')),
  );
}
