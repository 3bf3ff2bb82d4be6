// The OpenAPI generator emits shared schemas once under stable names, and describes webhook requests.
import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { webhookSection } from '../../../src/features/webhooks/openapi.ts';
import { defineEvent } from '../../../src/platform/events/define.ts';
import { createComponents } from '../../../src/platform/openapi/components.ts';
import { describeAs } from '../../../src/platform/openapi/describe-as.ts';
import { buildOpenApiDocument } from '../../../src/platform/openapi/document.ts';

describe('schemas in the document', () => {
  it('appear once and are referred to if they have an id', () => {
    const pet = z.object({ name: z.string() }).meta({ id: 'Pet' });
    const components = createComponents();
    const one = components.describe(pet, 'output');
    const many = components.describe(z.array(pet), 'output');
    expect(one).toEqual({ $ref: '#/components/schemas/Pet' });
    expect(many).toEqual({ type: 'array', items: { $ref: '#/components/schemas/Pet' } });
    expect(Object.keys(components.schemas())).toEqual(['Pet']);
  });

  it('have one more form if a request differs, in themselves or in what they refer to', () => {
    const tag = z.object({ text: z.string().default('Good dog') }).meta({ id: 'Tag' });
    const owner = z.object({ name: z.string() }).meta({ id: 'Owner' });
    const pet = z.object({ tag, owner }).meta({ id: 'Pet' });
    const components = createComponents();
    components.describe(pet, 'output');
    for (const again of [pet, z.array(pet), pet]) components.describe(again, 'input');
    const { Tag, TagInput, PetInput, ...others } = components.schemas();
    expect(Object.keys(others)).toEqual(['Owner', 'Pet']);
    expect(Tag?.required).toEqual(['text']);
    expect(TagInput?.required).toBeUndefined();
    expect(PetInput?.properties).toEqual({
      tag: { $ref: '#/components/schemas/TagInput' },
      owner: { $ref: '#/components/schemas/Owner' },
    });
  });

  it('keep their name if only requests have them', () => {
    const components = createComponents();
    const pet = z.strictObject({ name: z.string().default('Rex') }).meta({ id: 'Pet' });
    expect(components.describe(pet, 'input')).toEqual({ $ref: '#/components/schemas/Pet' });
  });

  it('say in words what a request need not send', () => {
    const components = createComponents();
    const sound = z.string().default('woof').meta({ description: 'What it says.' });
    components.describe(z.object({ sound }).meta({ id: 'Dog' }), 'input');
    expect(components.schemas().Dog?.properties).toEqual({
      sound: { type: 'string', description: 'What it says. The default is `"woof"`.' },
    });
  });

  it('name the field that distinguishes the variants of a union, and its values', () => {
    const cat = z.object({ kind: z.literal('cat') }).meta({ id: 'Cat' });
    const dog = z.object({ kind: z.enum(['dog', 'wolf']) }).meta({ id: 'Dog' });
    const components = createComponents();
    components.describe(dog, 'output');
    const union = components.describe(z.discriminatedUnion('kind', [cat, dog]), 'input');
    const ref = (name: string) => `#/components/schemas/${name}`;
    expect(union).toEqual({
      oneOf: [{ $ref: ref('Cat') }, { $ref: ref('Dog') }],
      discriminator: {
        propertyName: 'kind',
        mapping: { cat: ref('Cat'), dog: ref('Dog'), wolf: ref('Dog') },
      },
    });
  });

  it('need an id if they are recursive', () => {
    const step = z.object({
      get steps() {
        return z.array(step).optional();
      },
    });
    const components = createComponents();
    expect(() => components.describe(step, 'output')).toThrow('a recursive schema needs an id');
    expect(() => components.describe(z.object({ first: step }), 'output')).toThrow('needs an id');
  });

  it('do not share an id', () => {
    const components = createComponents();
    components.describe(z.object({ name: z.string() }).meta({ id: 'Dog' }), 'output');
    const other = z.object({ age: z.int() }).meta({ id: 'Dog' });
    expect(() => components.describe(other, 'output')).toThrow('two schemas have the id Dog');
  });

  it('may show what code parses', () => {
    const parsed = z.unknown().transform((given) => String(given));
    const body = z.strictObject({ size: describeAs(parsed, () => z.int()).meta({ description: 'In cm.' }) });
    expect(createComponents().describe(body, 'input')).toMatchObject({
      properties: { size: { type: 'integer', description: 'In cm.' } },
    });
    expect(body.parse({ size: 'large' })).toEqual({ size: 'large' });
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
