import type { ButtonHTMLAttributes, ReactNode } from 'react';

export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  kind?: 'primary' | 'secondary' | 'danger' | 'quiet';
  /** Work is under way: the button says so and cannot be pressed. */
  busy?: boolean;
  children: ReactNode;
}

export function Button({ kind = 'secondary', busy = false, children, className = '', ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      className={`button ${kind} ${className}`}
      disabled={rest.disabled === true || busy}
      aria-busy={busy}
    >
      {children}
    </button>
  );
}
