import { useState, type ReactNode } from 'react';
import { Button } from './button.tsx';

/** Copies a text; the button says so. */
export function CopyButton({ text, label = 'Copy' }: { text: string; label?: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 2_000);
  };
  return (
    <Button kind="quiet" onClick={() => void copy()} aria-live="polite">
      {copied ? 'Copied' : label}
    </Button>
  );
}

/** Text as it is, such as a command or a body, with a button that copies it. */
export function CodeBlock({ text, label }: { text: string; label?: string }) {
  return (
    <figure className="code">
      {label !== undefined && <figcaption>{label}</figcaption>}
      <pre tabIndex={0}>
        <code>{text}</code>
      </pre>
      <CopyButton text={text} />
    </figure>
  );
}

/** JSON, indented. */
export const JsonBlock = ({ value, label }: { value: unknown; label?: string }) => (
  <CodeBlock text={JSON.stringify(value, null, 2)} {...(label === undefined ? {} : { label })} />
);

/**
 * Shown if a list is empty: what it would contain, and how to create the first entry.
 * @param curl a command that does it through the API
 */
export function EmptyState({ title, children, curl }: { title: string; children: ReactNode; curl?: string }) {
  return (
    <div className="empty">
      <h2>{title}</h2>
      {children}
      {curl !== undefined && <CodeBlock text={curl} label="Or by the API" />}
    </div>
  );
}

/**
 * Returns a curl line for the API of this service.
 * @param keyName the name of the environment variable with the API key
 */
export function curlOf(method: string, path: string, body?: unknown, keyName = 'CARILLON_API_KEY'): string {
  const lines = [`curl ${method === 'GET' ? '' : `-X ${method} `}${globalThis.location.origin}${path}`];
  lines.push(`-H "Authorization: Bearer $${keyName}"`);
  if (body !== undefined) {
    lines.push(
      `-H 'Content-Type: application/json'`,
      `-d '${JSON.stringify(body).replaceAll("'", `'\\''`)}'`,
    );
  }
  return lines.join(' \\\n  ');
}
