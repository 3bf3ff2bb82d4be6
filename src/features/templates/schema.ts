import { z } from 'zod';
import { bareEmail } from '../../delivery/terms/addresses/bare-email.ts';
import { designSchema } from '../../delivery/content/templates/design.ts';
import { withoutLiquid } from '../../delivery/terms/texts/no-liquid.ts';
import { channels } from '../../delivery/terms/message.ts';
import { oneLine } from '../../platform/input/one-line.ts';
import { filterTime } from '../../platform/db/filter-time.ts';
import { idParam, MAX_ID, pageQuery, summaryQuery } from '../../platform/db/paging.ts';
import type { Twin } from '../../platform/input/read-only.ts';
import { revisionField } from '../../platform/db/revisions.ts';
import { smsSizeSchema } from './sms-size.ts';

const MAX_NAME = 255;
const MAX_SUBJECT = 998;
const MAX_BODY_BYTES = 512 * 1024;
/** Maximum number of variables of a template, and of values in a request. */
export const MAX_VALUES = 200;
export const MAX_VALUE_NAME = 200;
export const MAX_VALUES_BYTES = 64 * 1024;
/** Maximum number of recipients of a test. */
const MAX_TEST_RECIPIENTS = 20;

const email = bareEmail(z.string().max(320));

/** Values of variables by name. */
export const templateValues = z
  .record(z.string().max(MAX_VALUE_NAME), z.unknown())
  .refine((value) => Object.keys(value).length <= MAX_VALUES, `must have at most ${MAX_VALUES} names`)
  .refine(
    (value) => Buffer.byteLength(JSON.stringify(value)) <= MAX_VALUES_BYTES,
    `must have at most ${MAX_VALUES_BYTES / 1024} KB`,
  );

/** A filter by id in a query string. */
function idFilter(description: string) {
  return idParam.optional().meta({ description });
}

const contentShape = {
  subject: oneLine(MAX_SUBJECT).nullish().meta({ description: 'Liquid. Null for an SMS.' }),
  body: z
    .string()
    .refine(
      (text) => Buffer.byteLength(text) <= MAX_BODY_BYTES,
      `must have at most ${MAX_BODY_BYTES / 1024} KB`,
    )
    .nullish()
    .meta({
      maxLength: MAX_BODY_BYTES,
      description:
        'MJML if it begins with `<mjml`, HTML if it has tags, else plain text in paragraphs. May contain Liquid. Of `body` and ' +
        '`design`, the one that was set last is sent.',
    }),
  preheader: oneLine(500).nullish().meta({ description: 'Liquid.' }),
  from_name: withoutLiquid(oneLine(200), 'sender names').nullish(),
  from_email: email
    .nullish()
    .meta({ description: 'Must be a verified sender of the brand when the template is sent.' }),
  reply_to: email.nullish(),
  design: designSchema.nullish(),
  variables: templateValues.nullish().meta({
    description: 'Sample values by names of variables, such as `contact.first_name`.',
  }),
};

/** The email-only fields of a template. */
export const emailOnlyFields = [
  'subject',
  'preheader',
  'from_name',
  'from_email',
  'reply_to',
  'design',
] as const;

/** The content of a campaign or of a flow step in its own request. Fields that are left out do not change. */
export const templateAttributes = z
  .strictObject({
    template_id: z.int().positive().max(MAX_ID).optional().meta({
      description: 'Copies this template of the brand first; the other fields change the copy.',
    }),
    ...contentShape,
  })
  .meta({ id: 'TemplateAttributes' });
export type TemplateAttributes = z.output<typeof templateAttributes>;

/** A field that shows the content of another resource, which `use` changes. */
export const contentTwin = (use: string): Twin => ({
  use,
  parts: Object.keys(contentShape),
  nullInLists: ['body', 'design'],
});

/** The content that a writer sets. */
export type TemplateContent = Omit<TemplateAttributes, 'template_id'> & { name?: string | null | undefined };

const name = oneLine(MAX_NAME).min(1).nullish();

export const createTemplateBody = z.strictObject({
  name,
  channel: z.enum(channels).default('email'),
  ...contentShape,
});
export type CreateTemplateBody = z.output<typeof createTemplateBody>;

const changedFields = z.strictObject({
  name,
  ...contentShape,
  content_from: z.unknown().optional().meta({
    description:
      'Read-only. If it is `design` and `design` is null, as in lists, the design does not change.',
  }),
});

/**
 * Fields that are left out do not change. Null clears a field, except for the design of a template that a client sends
 * back as it got it from a list, where all designs are null.
 */
export const changeTemplateBody = changedFields.transform(
  ({ content_from: contentFrom, design, ...others }) =>
    design === undefined || (design === null && contentFrom === 'design') ? others : { ...others, design },
);
export type ChangeTemplateBody = z.output<typeof changeTemplateBody>;

export const duplicateTemplateBody = z.strictObject({ name });

const when = z.iso.datetime();
const nullableText = z.string().nullable();

const templateFields = {
  id: z.int(),
  channel: z.enum(channels),
  campaign_id: z.int().nullable(),
  flow_id: z.int().nullable(),
  action_id: z.int().nullable(),
  name: nullableText,
  subject: nullableText,
  body: nullableText,
  preheader: nullableText,
  from_name: nullableText,
  from_email: nullableText,
  reply_to: nullableText,
  content_from: z
    .enum(['body', 'design'])
    .meta({ description: 'Which of `body` and `design` is sent: the one that was set last.' }),
  variables: z.record(z.string(), z.unknown()).meta({
    description: 'The names of the variables in the content, with sample values. Null if there is no sample.',
  }),
  revision: revisionField,
  created_at: when,
  updated_at: when,
};

/** A template with its design. */
export const templateResource = z
  .object({ ...templateFields, design: designSchema.nullable() })
  .meta({ id: 'Template' });
export type Template = z.input<typeof templateResource>;

/** Whether a template is the content of a flow. */
export const isOfFlow = (template: unknown): boolean =>
  ((template as Partial<Template> | null)?.flow_id ?? null) !== null;

/** A template in a list. */
export const templateSummary = z
  .object({
    ...templateFields,
    body: nullableText.optional().meta({ description: 'Left out in summaries.' }),
    design: designSchema.nullable().meta({ description: 'Null in lists; `GET /templates/{id}` shows it.' }),
  })
  .meta({ id: 'TemplateSummary' });
export type TemplateSummary = z.input<typeof templateSummary>;

/** Fields that are ignored, so that a client can send a template back as it received it. */
export const templateReadOnlyFields = [
  'id',
  'channel',
  'campaign_id',
  'flow_id',
  'action_id',
  'content_from',
  'revision',
  'created_at',
  'updated_at',
];

export const templateParams = z.strictObject({ id: idParam });

export const listTemplatesQuery = z.strictObject({
  ...pageQuery,
  ...summaryQuery,
  owner: z.enum(['all']).optional().meta({
    description: '`all` includes templates of campaigns and flows, which the list leaves out by default.',
  }),
  name: z.string().max(MAX_NAME).optional().meta({ description: 'Only templates with exactly this name.' }),
  channel: z.enum(channels).optional(),
  campaign_id: idFilter('The templates of this campaign.'),
  flow_id: idFilter('The templates of this flow.'),
  created_after: filterTime.optional(),
  created_before: filterTime.optional(),
});
export type ListTemplatesQuery = z.output<typeof listTemplatesQuery>;

export const listVersionsQuery = z.strictObject(pageQuery);

export const versionSchema = z
  .object({
    id: z.int(),
    template_id: z.int(),
    channel: z.enum(channels),
    subject: nullableText.meta({ description: 'Compiled Liquid.' }),
    preheader: nullableText,
    from_name: nullableText,
    from_email: nullableText,
    reply_to: nullableText,
    segments: z.int().nullable().meta({ description: 'The largest number of segments of an SMS.' }),
    created_at: when,
  })
  .meta({ id: 'TemplateVersion' });
export type TemplateVersion = z.input<typeof versionSchema>;

const problem = z
  .object({
    field: z
      .string()
      .meta({ description: 'The dotted path of the field, such as `design.sections.2.props.href`.' }),
    code: z.string(),
    message: z.string(),
  })
  .meta({ id: 'TemplateProblem' });

const checkProblem = z
  .object({
    field: z.string().meta({
      description:
        'The path of the field, such as `design.sections.2.props.href` or `steps[2].yes[0].duration`.',
    }),
    code: z
      .string()
      .meta({ description: '`validation_error`, or the kind of problem, such as `broken_link`.' }),
    message: z.string(),
    severity: z.enum(['error', 'warning']).meta({
      description: '`error`: it would not be sent or activated. `warning`: it could be better.',
    }),
  })
  .meta({ id: 'CheckProblem' });

/** What all checks answer: those of templates, contents, campaigns and flows. */
export const checkedProblems = z
  .array(checkProblem)
  .meta({ description: 'Everything that was found, errors first. Empty if there is nothing.' });

export const checkSchema = z.object({ problems: checkedProblems }).meta({ id: 'TemplateCheck' });

export const renderBody = z.strictObject({
  contact_id: z.int().positive().max(MAX_ID).optional().meta({ description: 'A contact of the brand.' }),
  variables: templateValues
    .optional()
    .meta({ description: 'Values of the variables, which take precedence over the sample values.' }),
  sample: z
    .boolean()
    .default(true)
    .meta({ description: 'Whether variables without a value get the sample values of the template.' }),
});
export type RenderBody = z.output<typeof renderBody>;

const unsavedShape = {
  channel: z.enum(channels).default('email'),
  subject: contentShape.subject,
  preheader: contentShape.preheader,
  body: contentShape.body,
  design: contentShape.design,
  footer: z
    .enum(['none', 'marketing'])
    .default('none')
    .meta({ description: '`marketing` shows the footer of campaigns and flows.' }),
};

/** A content that is not stored. */
export const unsavedContent = z.strictObject(unsavedShape).meta({ id: 'UnsavedContent' });
export type UnsavedContent = z.output<typeof unsavedContent>;

export const renderUnsavedBody = z.strictObject({
  ...unsavedShape,
  contact_id: renderBody.shape.contact_id,
  variables: templateValues.optional().meta({ description: 'Values of the variables.' }),
});
export type RenderUnsavedBody = z.output<typeof renderUnsavedBody>;

export const checkUnsavedBody = renderUnsavedBody.omit({ contact_id: true });
export type CheckUnsavedBody = z.output<typeof checkUnsavedBody>;

export const designToHtmlBody = z.strictObject({ design: designSchema });

export const designHtmlSchema = z
  .object({
    html: nullableText.meta({
      description: 'A complete document with Liquid; null if the design has errors.',
    }),
    problems: z.array(problem).meta({ description: 'The errors of the design. Empty if there are none.' }),
  })
  .meta({ id: 'DesignHtml' });

export const checkedSchema = z
  .object({
    problems: checkedProblems,
    errors: z.record(z.string(), z.array(z.string())).meta({
      description: 'The messages of the errors in `problems`, by field.',
    }),
    warnings: z.array(problem).meta({ description: 'The warnings in `problems`.' }),
    variables: z.array(z.string()).meta({ description: 'The names that the content uses, sorted.' }),
  })
  .meta({ id: 'CheckedContent' });

export const renderedSchema = z
  .object({
    subject: nullableText,
    html: nullableText,
    text: nullableText,
    sms: smsSizeSchema
      .nullable()
      .meta({ description: 'The size of an SMS; null for an email, or without a text.' }),
    problems: z.array(problem),
  })
  .meta({ id: 'RenderedTemplate' });

export const sendTestBody = z.strictObject({
  to: z
    .array(z.string().min(1).max(320))
    .min(1)
    .max(MAX_TEST_RECIPIENTS)
    .optional()
    .meta({
      description:
        'Each must be one of the `test_email_recipients` of the account or the address of one of its users. By default, the ' +
        'calling user, or all `test_email_recipients` if the caller is an API key.',
    }),
  contact_id: renderBody.shape.contact_id,
  variables: renderBody.shape.variables,
});
export type SendTestBody = z.output<typeof sendTestBody>;

/** A test of a content that is not stored. */
export const sendUnsavedTestBody = z.strictObject({
  ...unsavedShape,
  from_name: contentShape.from_name,
  from_email: contentShape.from_email,
  reply_to: contentShape.reply_to,
  ...sendTestBody.shape,
});
export type SendUnsavedTestBody = z.output<typeof sendUnsavedTestBody>;

export const sentTestSchema = z
  .object({ messages: z.array(z.object({ id: z.int(), to: z.string().nullable() })) })
  .meta({ id: 'SentTest' });
export type SentTest = z.input<typeof sentTestSchema>;
