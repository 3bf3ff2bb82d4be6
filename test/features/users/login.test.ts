// Login does not reveal which addresses exist, and limits the attempts for each address.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestApi, TEST_PASSWORD, type TestApi } from '../../support/api.ts';

describe('POST /v1/login', () => {
  let api: TestApi;
  beforeAll(async () => {
    api = await startTestApi();
  });
  afterAll(() => api.close());

  const logIn = (user: unknown) => api.request('POST', '/v1/login', { token: null, body: { user } });

  it('responds the same to a wrong password and to an unknown address', async () => {
    const wrong = await logIn({ email: api.email, password: 'wrong' });
    const unknown = await logIn({ email: 'nobody@acme.test', password: 'wrong' });
    expect(wrong.status).toBe(401);
    expect(wrong.body).toEqual({
      error: true,
      code: 'unauthorized',
      message: 'wrong email or password',
      validation_errors: {},
    });
    expect(unknown.status).toBe(401);
    expect(unknown.body).toEqual(wrong.body);
  });

  it('takes as long for an unknown address as for a wrong password', async () => {
    const timed = async (email: string) => {
      const startedAt = performance.now();
      await logIn({ email, password: 'wrong' });
      return performance.now() - startedAt;
    };
    const unknown = [await timed('one@x.test'), await timed('two@x.test'), await timed('three@x.test')];
    // argon2id with these parameters takes well over 5 ms on any machine; a look-up alone takes 1 to 2 ms.
    expect(Math.min(...unknown)).toBeGreaterThan(5);
  });

  it('names each missing, mistyped and unknown field by its path', async () => {
    const answer = await logIn({ emial: 'x', password: 1 });
    expect(answer.status).toBe(422);
    expect(answer.body.validation_errors).toEqual({
      'user.email': ['is required'],
      'user.emial': ['is not a known field; did you mean email?'],
      'user.password': ['must be a string'],
    });
  });

  it('returns the user and a session token', async () => {
    const answer = await logIn({ email: api.email.toUpperCase(), password: TEST_PASSWORD });
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      id: api.userId,
      first_name: 'Olive',
      last_name: 'Owner',
      email: api.email,
      mobile: '',
      country_code: '',
      admin: false,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      updated_at: expect.any(String),
    });
    expect(answer.headers.get('authorization')).toMatch(/^Bearer [\w-]+\.[\w-]+\.[\w-]+$/);
  });

  it('allows ten attempts a minute for an email address', async () => {
    const answers = [];
    for (let count = 0; count < 11; count += 1) {
      answers.push(await logIn({ email: 'victim@acme.test', password: 'guess' }));
    }
    const last = answers.at(-1);
    expect(last?.status).toBe(429);
    expect(last?.body.code).toBe('rate_limited');
    expect(Number(last?.headers.get('retry-after'))).toBeGreaterThan(0);
  });
});
