/** The files that a user adds to a message: each is uploaded at once, and the browser keeps what is uploaded. */
import { useEffect, useRef, useState } from 'react';
import { removeAttachment, uploadAttachment } from '../api/attachments.ts';
import { ApiError, messageOf } from '../api/errors.ts';
import { isObject, parseJson } from './json-text.ts';
import type { Kept } from './kept-form.tsx';
import { bytesText } from './numbers.ts';

export type FileStep =
  /** @param part what of it has left, from 0 to 1 */
  | { name: 'uploading'; part: number }
  | { name: 'uploaded'; id: number; expiresAt: string }
  /** @param file to try once more; null if that would not help */
  | { name: 'failed'; reason: string; file: File | null };

export interface AttachedFile {
  /** The Idempotency-Key of the upload. */
  key: string;
  filename: string;
  /** Bytes. */
  size: number;
  step: FileStep;
}

/** A file as a message names it. */
export interface FileOfMessage {
  attachment_id: number;
}

export interface AttachedFiles {
  files: readonly AttachedFile[];
  add: (chosen: File[]) => void;
  retry: (file: AttachedFile) => void;
  remove: (file: AttachedFile) => void;
  /** What a message names now. */
  attachments: FileOfMessage[];
  /** The same, to be sent. @returns null if a file is not uploaded; `unready` then says so */
  take: () => FileOfMessage[] | null;
  /** To be called when the message is accepted: it keeps its files, so the uploads need no room in the quota. */
  release: () => void;
  /** Why the message cannot be sent yet; null if it can, or if the user has not tried to. */
  unready: string | null;
  /** What was taken last, for what the API says of it. */
  taken: readonly AttachedFile[];
  /** What the form keeps. */
  text: string;
}

/** Responses to a file that would be the same again. */
const FINAL: ReadonlySet<string> = new Set(['validation_error', 'payload_too_large']);
const EXPIRED = 'This file was uploaded too long ago. Remove it, then add it again.';

/** @param error of the API, which names the limit in bytes */
function tooLargeText({ message }: ApiError): string {
  const limit = /\d{4,}/.exec(message)?.[0];
  return limit === undefined
    ? 'It is too large.'
    : `It is too large: a file can have at most ${bytesText(Number(limit))}.`;
}

/** The last reason is that of the content, which says most. The API speaks of the name of a file. */
function reasonText({ fields, message }: ApiError): string {
  const reason = Object.values(fields).flat().at(-1);
  return reason === undefined ? message : `It ${reason.replace(/^names a file/, 'is a file')}.`;
}

function faultOf(error: unknown, file: File): FileStep {
  if (!(error instanceof ApiError)) return { name: 'failed', reason: messageOf(error), file };
  const reason = error.code === 'payload_too_large' ? tooLargeText(error) : reasonText(error);
  return { name: 'failed', reason, file: FINAL.has(error.code) ? null : file };
}

const isUploaded = (file: AttachedFile): file is AttachedFile & { step: { name: 'uploaded' } } =>
  file.step.name === 'uploaded';

const textOf = (files: readonly AttachedFile[]): string => JSON.stringify(files.filter(isUploaded));

const isLeft = (file: unknown): file is AttachedFile & { step: { name: 'uploaded' } } =>
  isObject(file) &&
  typeof file.key === 'string' &&
  typeof file.filename === 'string' &&
  typeof file.size === 'number' &&
  isObject(file.step) &&
  typeof file.step.id === 'number' &&
  typeof file.step.expiresAt === 'string';

/** The files that an earlier visit has left. The service no longer has those that have expired. */
function leftFiles(text: string | undefined): AttachedFile[] {
  const parsed = parseJson(text ?? '');
  const left = 'value' in parsed && Array.isArray(parsed.value) ? parsed.value.filter(isLeft) : [];
  return left.map((file) =>
    Date.parse(file.step.expiresAt) > Date.now()
      ? file
      : { ...file, step: { name: 'failed', reason: EXPIRED, file: null } },
  );
}

function unreadyText(files: readonly AttachedFile[]): string | null {
  if (files.some(({ step }) => step.name === 'failed')) {
    return 'Remove the files that could not be uploaded, then send.';
  }
  return files.every(isUploaded) ? null : 'Wait until all files are uploaded, then send.';
}

/** Uploads one file after the other. What is under way ends with the component. */
function useUploads(setStep: (key: string, step: FileStep) => void) {
  const stops = useRef(new Map<string, AbortController>());
  const last = useRef(Promise.resolve());
  useEffect(() => {
    const { current } = stops;
    return () => current.forEach((stop) => stop.abort());
  }, []);
  const upload = async (key: string, file: File, { signal }: AbortController) => {
    if (signal.aborted) return;
    try {
      const onProgress = (part: number) => setStep(key, { name: 'uploading', part });
      const { id, expires_at: expiresAt } = await uploadAttachment(file, { key, signal, onProgress });
      setStep(key, { name: 'uploaded', id, expiresAt });
    } catch (error) {
      if (!signal.aborted) setStep(key, faultOf(error, file));
    } finally {
      stops.current.delete(key);
    }
  };
  return {
    start(key: string, file: File) {
      const stop = new AbortController();
      stops.current.set(key, stop);
      last.current = last.current.then(() => upload(key, file, stop));
    },
    stop: (key: string) => stops.current.get(key)?.abort(),
  };
}

/** What cannot be removed now expires. */
const removeUpload = ({ step }: AttachedFile): void => {
  if (step.name === 'uploaded') removeAttachment(step.id).catch(() => undefined);
};

/** @param kept what the browser keeps of the form, which has the `text` as its field `files` */
export function useAttachedFiles(kept: Kept): AttachedFiles {
  const [files, setFiles] = useState(() => leftFiles(kept.first('files')));
  const [taken, setTaken] = useState<readonly AttachedFile[]>([]);
  const [tried, setTried] = useState(false);
  const setStep = (key: string, step: FileStep) =>
    setFiles((before) => before.map((each) => (each.key === key ? { ...each, step } : each)));
  const uploads = useUploads(setStep);
  const attachments = files.filter(isUploaded).map(({ step }) => ({ attachment_id: step.id }));
  return {
    files,
    attachments,
    taken,
    unready: tried ? unreadyText(files) : null,
    text: textOf(files),
    add(chosen) {
      const added = chosen.map((file) => ({ key: crypto.randomUUID(), file }));
      const step: FileStep = { name: 'uploading', part: 0 };
      setFiles((before) => [
        ...before,
        ...added.map(({ key, file }) => ({ key, filename: file.name, size: file.size, step })),
      ]);
      setTried(false);
      for (const { key, file } of added) uploads.start(key, file);
    },
    retry({ key, step }) {
      if (step.name !== 'failed' || !step.file) return;
      setStep(key, { name: 'uploading', part: 0 });
      uploads.start(key, step.file);
    },
    remove(file) {
      uploads.stop(file.key);
      removeUpload(file);
      setFiles((before) => before.filter(({ key }) => key !== file.key));
    },
    take() {
      setTried(true);
      setTaken(files);
      return unreadyText(files) === null ? attachments : null;
    },
    release: () => taken.forEach(removeUpload),
  };
}
