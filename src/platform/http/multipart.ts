import type { IncomingMessage, ServerResponse } from 'node:http';
import multer from 'multer';
import { AppError, invalid } from '../../errors.ts';
import { tooLarge } from './body.ts';
import type { UploadedFile } from './input.ts';
import type { MultipartBody } from './route.ts';

const MAX_FIELDS = 20;
const MAX_FIELD_BYTES = 64 * 1024;

export interface Multipart {
  fields: Record<string, unknown>;
  file: UploadedFile;
}

type WithFile = IncomingMessage & { file?: Express.Multer.File; body?: Record<string, unknown> };
type Middleware = (request: WithFile, response: ServerResponse, next: (error?: unknown) => void) => void;

function translated(error: unknown, multipart: MultipartBody): Error {
  const { code, field } = error as { code?: string; field?: string };
  if (code === 'LIMIT_FILE_SIZE') return tooLarge(multipart.maxFileBytes);
  if (code === 'LIMIT_UNEXPECTED_FILE') {
    const repeated = field === multipart.file;
    const problem = repeated
      ? 'must be given once'
      : `is not expected; send the file in the field ${multipart.file}`;
    return invalid({ [field ?? multipart.file]: [problem] });
  }
  if (typeof code === 'string' && code.startsWith('LIMIT_')) {
    return new AppError('payload_too_large', `the form exceeds the limit ${code.slice(6)}`);
  }
  return new AppError('malformed_json', 'the body is not valid multipart/form-data', { cause: error });
}

/**
 * Reads a multipart/form-data body: its only file, and its text fields.
 * @throws AppError `unsupported_media_type`, `payload_too_large`, `malformed_json`; `validation_error` without the file
 */
export async function readMultipart(request: IncomingMessage, multipart: MultipartBody): Promise<Multipart> {
  if (!/^multipart\/form-data\s*;/i.test(request.headers['content-type'] ?? '')) {
    throw new AppError('unsupported_media_type', 'Content-Type must be multipart/form-data');
  }
  const maxBytes = multipart.maxFileBytes + MAX_FIELDS * MAX_FIELD_BYTES;
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLarge(multipart.maxFileBytes);
  const parser = multer({
    storage: multer.memoryStorage(),
    limits: {
      // One more than allowed: the error for a second file then names its field.
      files: 2,
      fileSize: multipart.maxFileBytes,
      fields: MAX_FIELDS,
      fieldSize: MAX_FIELD_BYTES,
      parts: MAX_FIELDS + 2,
    },
    defParamCharset: 'utf8',
  }).single(multipart.file) as unknown as Middleware;
  const parsed = request as WithFile;
  await new Promise<void>((resolve, reject) => {
    // Multer does not use the response.
    parser(parsed, {} as ServerResponse, (error) =>
      error === undefined || error === null ? resolve() : reject(translated(error, multipart)),
    );
  });
  const { file } = parsed;
  if (!file) throw invalid({ [multipart.file]: ['is required'] });
  return {
    fields: { ...parsed.body },
    file: {
      filename: file.originalname,
      contentType: file.mimetype,
      size: file.size,
      bytes: file.buffer,
    },
  };
}
