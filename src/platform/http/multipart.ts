import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import multer from 'multer';
import { AppError, invalid } from '../../errors.ts';
import { GrowingBuffer } from '../input/growing-buffer.ts';
import type { AccountTenant } from '../auth/tenant.ts';
import { BlobTooLarge, newBlobKey, type StoredStream } from '../storage/blob-store.ts';
import { readPieces, tooLarge } from './body.ts';
import type { BodyBudgets, BodyMeter } from './body-budgets.ts';
import { allowSlowBody } from './body-deadline.ts';
import type { CountedRequest } from './counted-request.ts';
import type { FileSink } from './file-sink.ts';
import type { StoredFile, UploadedFile } from './input.ts';
import type { MultipartBody } from './route.ts';

const MAX_FIELDS = 20;
const MAX_FIELD_BYTES = 64 * 1024;
const FORM_TYPE = /^multipart\/form-data\s*;(?:.*;)?\s*boundary=(?:"[^"]|[^\s;"])/i;

interface Form {
  fields: Record<string, unknown>;
}
export interface Multipart extends Form {
  file: UploadedFile;
}
export interface StoredMultipart extends Form {
  stored: StoredFile;
  /** Removes the file unless it was kept. Call this when the request has ended. */
  release(): Promise<void>;
}

type ParsedFile = Express.Multer.File & Partial<StoredStream>;
type WithFile = IncomingMessage & { file?: ParsedFile; body?: Record<string, unknown> };
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

/** Bytes of the whole body. */
const maxBytesOf = (multipart: MultipartBody) => multipart.maxFileBytes + MAX_FIELDS * MAX_FIELD_BYTES;

/** Refuses a request by its headers, before its body is read. */
function checkHeaders(request: IncomingMessage, multipart: MultipartBody): void {
  if (!FORM_TYPE.test(request.headers['content-type'] ?? '')) {
    throw new AppError('unsupported_media_type', 'Content-Type must be multipart/form-data with a boundary');
  }
  if (Number(request.headers['content-length'] ?? 0) > maxBytesOf(multipart)) {
    throw tooLarge(multipart.maxFileBytes);
  }
}

interface Parsed extends Form {
  file: ParsedFile;
}

/**
 * Parses the form.
 * @param take gets each piece of the body. If it throws, or the body fails, the form fails at once, although multer
 *   would still wait for the rest. If the form fails, no further piece is taken.
 */
async function parse(
  request: CountedRequest,
  multipart: MultipartBody,
  storage: multer.StorageEngine,
  take: (piece: Buffer) => void,
): Promise<Parsed> {
  const ended = new AbortController();
  const arrival = readPieces(request, take, ended.signal);
  const parser = multer({
    storage,
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
  const done = new Promise<void>((resolve, reject) => {
    // Multer does not use the response.
    parser(parsed, {} as ServerResponse, (error) =>
      error === undefined || error === null ? resolve() : reject(translated(error, multipart)),
    );
  });
  try {
    await Promise.all([done, arrival]);
  } finally {
    ended.abort();
    request.unpipe();
  }
  const { file } = parsed;
  if (!file) throw invalid({ [multipart.file]: ['is required'] });
  return { fields: { ...parsed.body }, file };
}

/** Used instead of multer's own memory storage, which keeps a list of the pieces. */
function createMemory(maxBytes: number): multer.StorageEngine {
  return {
    _handleFile(_request, file, callback) {
      const content = new GrowingBuffer(maxBytes);
      file.stream.on('data', (piece: Buffer) => content.append(piece));
      file.stream.once('end', () => callback(null, { buffer: content.toBuffer(), size: content.length }));
    },
    _removeFile: (_request, _file, callback) => callback(null),
  };
}

/**
 * Reads a multipart/form-data body: its only file, and its text fields.
 * @throws AppError `unsupported_media_type`, `payload_too_large`, `malformed_json`, `unavailable`; `validation_error`
 *   without the file
 */
export async function readMultipart(
  request: CountedRequest,
  multipart: MultipartBody,
  meter: BodyMeter,
): Promise<Multipart> {
  checkHeaders(request, multipart);
  const maxBytes = maxBytesOf(multipart);
  const { fields, file } = await parse(request, multipart, createMemory(maxBytes), (piece) => {
    if (request.receivedBytes > maxBytes) throw tooLarge(multipart.maxFileBytes);
    meter.take(piece.length);
  });
  const { originalname: filename, mimetype: contentType, size, buffer: bytes } = file;
  return { fields, file: { filename, contentType, size, bytes } };
}

/** A storage engine for multer that serves one request. */
function createEngine(sink: FileSink, key: string, multipart: MultipartBody) {
  const { promise: failed, reject } = Promise.withResolvers<never>();
  let content: Readable | null = null;
  let writing: Promise<unknown> = Promise.resolve();
  const engine: multer.StorageEngine = {
    _handleFile(_request, file, callback) {
      const maxBytes = multipart.maxFileBytes;
      content = file.stream;
      writing = sink.store.putStream(key, content, { maxBytes }).then(
        (stored) => callback(null, stored),
        (error: unknown) => {
          if (error instanceof BlobTooLarge) reject(tooLarge(maxBytes));
          // The disk is full, for example. A stream that ended early has no code of the system, and multer reports it.
          else if ((error as NodeJS.ErrnoException).syscall !== undefined) reject(error);
          callback(error);
        },
      );
    },
    // `release` removes the file at the end of the request.
    _removeFile: (_request, _file, callback) => callback(null),
  };
  /** Aborts the writing, which would otherwise wait for the rest of the file. */
  const abort = (error: unknown): Promise<unknown> => {
    content?.destroy(error as Error);
    return writing;
  };
  return { engine, failed, abort };
}

/** @returns a function to call when the request has ended */
async function enter(request: CountedRequest, { sink, tenant, budgets }: StoreDeps): Promise<() => void> {
  const leaveProcess = budgets.enterUpload();
  try {
    const leaveSink = await sink.enter(tenant, request);
    return () => {
      leaveSink();
      leaveProcess();
    };
  } catch (error) {
    leaveProcess();
    throw error;
  }
}

interface StoreDeps {
  sink: FileSink;
  tenant: AccountTenant;
  budgets: Pick<BodyBudgets, 'enterUpload'>;
}

/**
 * Reads a multipart/form-data body whose file is stored while it arrives. Fields may come before and after it.
 * @throws AppError as {@link readMultipart}, and `rate_limited`; the file is removed then
 */
export async function storeMultipart(
  request: CountedRequest,
  multipart: MultipartBody,
  deps: StoreDeps,
): Promise<StoredMultipart> {
  checkHeaders(request, multipart);
  const { sink, tenant } = deps;
  const leave = await enter(request, deps);
  const key = newBlobKey(sink.kind, tenant.accountId);
  const { engine, failed, abort } = createEngine(sink, key, multipart);
  let kept = false;
  const release = async (): Promise<void> => {
    leave();
    if (!kept) await sink.store.remove(key);
  };
  try {
    allowSlowBody(request);
    const parsed = parse(request, multipart, engine, () => undefined);
    const { fields, file } = await Promise.race([failed, parsed]);
    const { originalname: filename, mimetype: contentType, size, sha256 = '' } = file;
    return {
      fields,
      stored: { filename, contentType, size, sha256, key, keep: () => void (kept = true) },
      release,
    };
  } catch (error) {
    await abort(error);
    await release();
    throw error;
  }
}
