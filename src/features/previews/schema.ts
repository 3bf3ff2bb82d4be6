import { z } from 'zod';
import { MAX_ID } from '../../platform/db/paging.ts';
import { templateValues, unsavedContent } from '../templates/schema.ts';

const id = z.int().positive().max(MAX_ID).optional();

const sources = ['message_id', 'template_id', 'campaign_id', 'flow_id', 'content'] as const;
const ONE_SOURCE = `give exactly one of ${sources.join(', ')}`;

/** The body of `POST /v1/my/previews`. */
export const createPreviewBody = z
  .strictObject({
    message_id: id.meta({ description: 'Shows a message, with the present values of its contact.' }),
    template_id: id,
    campaign_id: id,
    flow_id: id.meta({ description: 'Shows the content of a step of this flow.' }),
    step_id: id.meta({ description: 'The id of the step, with `flow_id`.' }),
    content: unsavedContent.optional(),
    contact_id: id.meta({
      description: 'The contact whose values are shown; without it, a sample. Not for messages.',
    }),
    variables: templateValues.optional().meta({ description: 'Values of the variables. Not for messages.' }),
    dark: z
      .boolean()
      .optional()
      .meta({
        description:
          'Shows it about as mail programs do that turn light letters dark: colors are inverted, images are not. ' +
          'By default false.',
      }),
  })
  .superRefine((body, issues) => {
    const given = sources.filter((name) => body[name] !== undefined);
    const refuse = (name: string, message: string) =>
      issues.addIssue({ code: 'custom', path: [name], message });
    if (given.length !== 1) refuse(given[1] ?? 'template_id', `cannot be read: ${ONE_SOURCE}`);
    if (body.flow_id !== undefined && body.step_id === undefined)
      refuse('step_id', 'is required with flow_id');
    if (body.flow_id === undefined && body.step_id !== undefined) refuse('step_id', 'is only for flow_id');
    for (const name of ['contact_id', 'variables'] as const) {
      if (body.message_id !== undefined && body[name] !== undefined) refuse(name, 'is not for messages');
    }
  });
export type CreatePreviewBody = z.output<typeof createPreviewBody>;

export const previewSchema = z
  .object({
    url: z.string().meta({ description: 'The page. It needs no credentials.' }),
    expires_at: z.iso.datetime(),
  })
  .meta({ id: 'Preview' });
