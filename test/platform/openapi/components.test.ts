// The OpenAPI generator emits shared schemas once under stable names, and describes webhook requests.
import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { webhookSection } from '../../../src/features/webhooks/openapi.ts';
import { defineEvent } from '../../../src/platform/events/define.ts';
import { createComponents } from '../../../src/platform/openapi/components.ts';
import { buildOpenApiDocument } from '../../../src/platform/openapi/document.ts';

describe('schemas in the document', () => {
  it('appear once and are referred to if they have an id', () => {
    const pet = z.object({ name: z.string() }).meta({ id: 'Pet' });
    const components = createComponents();
    const one = components.describe(pet, 'output', 'GetPetAnswer');
    const many = components.describe(z.array(pet), 'output', 'ListPetsAnswer');
    expect(one).toEqual({ $ref: '#/components/schemas/Pet' });
    expect(many).toEqual({ type: 'array', items: { $ref: '#/components/schemas/Pet' } });
    expect(Object.keys(components.schemas())).toEqual(['Pet']);
  });

  it('get two names if request and response differ', () => {
    const pet = z.object({ name: z.string().default('Rex') }).meta({ id: 'Pet' });
    const components = createComponents();
    components.describe(pet, 'output', 'Answer');
    expect(components.describe(pet, 'input', 'Body')).toEqual({ $ref: '#/components/schemas/PetInput' });
    expect(components.schemas().Pet?.required).toEqual(['name']);
    expect(components.schemas().PetInput?.required).toBeUndefined();
  });

  it('are named after their place of use if they are recursive and have no id', () => {
    const step = z.object({
      type: z.string(),
      get steps() {
        return z.array(step).optional();
      },
    });
    const components = createComponents();
    expect(components.describe(step, 'output', 'Step')).toEqual({ $ref: '#/components/schemas/Step' });
    components.describe(z.object({ first: step }), 'output', 'Flow');
    const refs = JSON.stringify(components.schemas()).match(/#\/components\/schemas\/\w+/g) ?? [];
    for (const ref of refs) expect(Object.keys(components.schemas())).toContain(ref.split('/').at(-1));
  });
});

describe('webhooks in the document', () => {
  it('describe the request that an endpoint receives, signature included', () => {
    const data = z.object({ message_id: z.int() });
    const document = buildOpenApiDocument([], {
      publicUrl: null,
      webhooks: webhookSection([
        defineEvent('email.sent', {
          sentWhen: 'A provider accepted the message.',
          data,
          sample: () => ({ message_id: 7 }),
        }),
      ]),
    });
    const { post } =
      (document.webhooks as Record<string, { post: Record<string, unknown> }>)['email.sent'] ?? {};
    expect(post).toMatchObject({
      operationId: 'on_email_sent',
      parameters: [
        { name: 'User-Agent' },
        { name: 'webhook-id' },
        { name: 'webhook-timestamp' },
        { name: 'webhook-signature' },
      ],
      requestBody: {
        content: {
          'application/json': {
            schema: {
              required: ['type', 'timestamp', 'data'],
              properties: { type: { const: 'email.sent' }, data: { required: ['message_id'] } },
            },
            examples: { test: { value: { data: { message_id: 7 } } } },
          },
        },
      },
    });
  });
});
