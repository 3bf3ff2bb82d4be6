import { z } from 'zod';
import { dispositions } from '../../delivery/terms/letter.ts';
import { idParam } from '../../platform/db/paging.ts';
import { oneLine } from '../../platform/input/one-line.ts';
import { describeAs } from '../../platform/openapi/describe-as.ts';
import { isMailable, MEDIA_TYPE } from './media-type.ts';

/** Maximum number of files of a message. */
export const MAX_ATTACHMENTS = 20;

const NOT_FETCHED =
  'files are not fetched: send `content`, or upload the file by POST /attachments and give its `attachment_id`';
const ONE_SOURCE = 'give either `content` or `attachment_id`';
/** RFC 4648 with padding. The server also accepts line breaks. */
const BASE64 = '^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$';

export const contentTypeSchema = z
  .string()
  .max(255)
  .regex(MEDIA_TYPE, 'must be a media type such as application/pdf')
  .refine(isMailable, 'must not be multipart or message')
  .meta({
    description:
      'The media type, with its parameters. By default it is found by the name and the content. That of an invitation ' +
      'is `text/calendar` and gets the `method` of the file.',
  });

const fields = {
  filename: oneLine(255).min(1).optional().meta({
    description: 'The name that recipients see. Required with `content`; else by default that of the upload.',
  }),
  content: z.string().min(1).optional().meta({
    pattern: BASE64,
    contentEncoding: 'base64',
    description: 'The file in base64 (RFC 4648, with padding). At most 5 MB in all files of a message.',
  }),
  attachment_id: z
    .int()
    .positive()
    .optional()
    .meta({ description: 'A file of the brand that was uploaded by `POST /attachments`.' }),
  content_type: contentTypeSchema.optional(),
  content_id: z
    .string()
    .regex(/^[A-Za-z0-9._@+-]{1,128}$/, 'must have 1 to 128 letters, digits or characters of . _ @ + -')
    .optional()
    .meta({ description: 'The name by which the HTML shows an image: `cid:logo` for `logo`.' }),
  disposition: z.enum(dispositions).optional().meta({
    description: '`inline` by default if there is a `content_id`, else `attachment`.',
  }),
};

const refusedName = z.never({ error: NOT_FETCHED }).optional();

const parsedAttachment = z
  .strictObject({ ...fields, path: refusedName, url: refusedName, href: refusedName })
  .superRefine((file, ctx) => {
    const issue = (field: string, message: string) =>
      ctx.addIssue({ code: 'custom', path: [field], message });
    if (file.content !== undefined && file.attachment_id !== undefined) issue('attachment_id', ONE_SOURCE);
    if (file.content === undefined && file.attachment_id === undefined) issue('content', ONE_SOURCE);
    if (file.content !== undefined && file.filename === undefined)
      issue('filename', 'is required with `content`');
  });

const shownAttachment = z.strictObject(fields).meta({
  id: 'NewAttachment',
  description: 'A file of a message: its `filename` and `content`, or the `attachment_id` of an upload.',
  if: { required: ['attachment_id'] },
  else: { required: ['filename', 'content'] },
});

/** The field `attachments` of messages and replies. */
export const attachmentsSchema = z
  .array(describeAs(parsedAttachment, () => shownAttachment))
  .max(MAX_ATTACHMENTS, `must have at most ${MAX_ATTACHMENTS} files`)
  .superRefine((files, ctx) => {
    const ids = new Set<string>();
    for (const [n, { content_id: id }] of files.entries()) {
      if (id !== undefined && ids.has(id))
        ctx.addIssue({ code: 'custom', path: [n, 'content_id'], message: 'is that of another file, too' });
      if (id !== undefined) ids.add(id);
    }
  })
  .meta({ description: `Files, at most ${MAX_ATTACHMENTS}. Email only.` });

/** A file as a request gives it. */
export type AttachmentBody = z.infer<typeof attachmentsSchema>[number];

/** A file of a message as clients see it. */
export const messageAttachmentSchema = z
  .object({
    n: z.int().meta({ description: 'Its place in the message, from 1.' }),
    filename: z.string(),
    content_type: z.string(),
    size: z.int().meta({ description: 'Bytes.' }),
    sha256: z.string().meta({ description: 'Of the bytes, in hexadecimal digits.' }),
    content_id: z.string().nullable(),
    disposition: z.enum(dispositions),
  })
  .meta({ id: 'MessageAttachment' });

/** An uploaded file as clients see it. */
export const uploadedAttachmentSchema = z
  .object({
    id: z.int().meta({ description: 'The `attachment_id` for messages.' }),
    filename: z.string(),
    content_type: z.string(),
    size: z.int().meta({ description: 'Bytes.' }),
    sha256: z.string().meta({ description: 'Of the bytes, in hexadecimal digits.' }),
    expires_at: z.iso.datetime().meta({
      description: 'When new messages can no longer name it. Messages that have named it keep the file.',
    }),
  })
  .meta({ id: 'Attachment' });
export type UploadedAttachment = z.infer<typeof uploadedAttachmentSchema>;

export const attachmentParams = z.object({ id: idParam });
