// Each kind of provider has a unique name, documented settings, and marks every secret.
import { describe, expect, it } from '@jest/globals';
import type { z } from 'zod';
import { providerKind, providerKinds } from '../../../../src/delivery/wire/providers/index.ts';

const fieldsOf = (schema: unknown) => (schema as z.ZodObject<Record<string, z.ZodType>>).shape;

describe('the kinds of providers', () => {
  it('are those that operators can add, in the order in which they are offered', () => {
    expect(providerKinds.map(({ name, channel }) => `${name} ${channel}`)).toEqual([
      ...['smtp', 'ses', 'sendgrid', 'postmark', 'mailgun', 'resend'].map((name) => `${name} email`),
      ...['twilio', 'vonage'].map((name) => `${name} sms`),
    ]);
    expect(providerKind('capture')).toBeUndefined();
  });

  it('have unique names', () => {
    const names = providerKinds.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) {
      expect(name).toMatch(/^[a-z][a-z0-9]*$/);
      expect(providerKind(name)?.name).toBe(name);
    }
    expect(providerKind('constructor')).toBeUndefined();
  });

  it.each(providerKinds.map((kind) => [kind.name, kind] as const))(
    '%s has a help text for each setting, and secrets among them',
    (_name, { settings, secrets }) => {
      const fields = fieldsOf(settings);
      for (const [name, field] of Object.entries(fields)) {
        expect(name).toMatch(/^[a-z][a-z0-9_]*$/);
        expect(field.description).toMatch(/^\S.{3,}[^.]$/);
      }
      expect(Object.keys(fields)).toEqual(expect.arrayContaining([...secrets]));
      const hidden = Object.keys(fields).filter((name) => /secret|token|password|api_key|_key$/.test(name));
      const publicKeys = ['verification_key'];
      expect(secrets).toEqual(expect.arrayContaining(hidden.filter((name) => !publicKeys.includes(name))));
    },
  );

  it.each(providerKinds.map((kind) => [kind.name, kind] as const))(
    '%s refuses settings that it does not know',
    (_name, { settings }) => {
      expect(settings.safeParse({ unknown_setting: 'x' }).success).toBe(false);
    },
  );
});
