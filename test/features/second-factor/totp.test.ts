// Codes are those of RFC 6238, and each code counts once.
import { describe, expect, it } from '@jest/globals';
import { codeOf, secretText, secretUri, stepOf } from '../../../src/features/second-factor/totp.ts';

/** RFC 6238, appendix B. */
const secret = Buffer.from('12345678901234567890');

describe('a one-time password', () => {
  it.each([
    [59, '287082'],
    [1_111_111_109, '081804'],
    [1_111_111_111, '050471'],
    [1_234_567_890, '005924'],
    [2_000_000_000, '279037'],
    [20_000_000_000, '353130'],
  ])('is the one of RFC 6238 at %d s', (seconds, code) => {
    expect(codeOf(secret, Math.floor(seconds / 30))).toBe(code);
  });

  it('counts for one step before and after its own, and not longer', () => {
    const codes = [-2, -1, 0, 1, 2].map((distance) => codeOf(secret, 100 + distance));
    const steps = codes.map((code) => stepOf(secret, code, { seconds: 3_015, lastStep: 0 }));
    expect(steps).toEqual([null, 99, 100, 101, null]);
  });

  it('does not count if a code of its step or of a later one was used', () => {
    const codes = [99, 100, 101].map((step) => codeOf(secret, step));
    const steps = codes.map((code) => stepOf(secret, code, { seconds: 3_015, lastStep: 100 }));
    expect(steps).toEqual([null, null, 101]);
  });

  it('has a secret in the form that apps read', () => {
    expect(secretText(secret)).toBe('GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ');
    expect(secretUri(secret, 'ada@acme.test')).toBe(
      'otpauth://totp/Carillon%3Aada%40acme.test?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Carillon',
    );
  });
});
