// What host and guest say to each other: one JSON document in each line of a virtio port.

/** What the guest can do. Each `write` is one write(2) that creates no file, as sysfs requires. */
export type Call =
  | { readonly call: 'read'; readonly path: string }
  | { readonly call: 'write'; readonly path: string; readonly text: string }
  | { readonly call: 'list'; readonly path: string }
  | { readonly call: 'link'; readonly path: string }
  | { readonly call: 'exists'; readonly path: string }
  /** Creates the file, and the folders above it. */
  | { readonly call: 'save'; readonly path: string; readonly base64: string }
  /** Answers when the command has ended. */
  | { readonly call: 'run'; readonly command: readonly string[] }
  /** Answers at once; the process's lines and its end follow as {@link Notice}s. */
  | {
      readonly call: 'start';
      readonly name: string;
      readonly command: readonly string[];
      readonly environment: Readonly<Record<string, string>>;
    }
  | { readonly call: 'kill'; readonly name: string; readonly signal: NodeJS.Signals };

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export type Request = Call & { readonly id: number };

export interface Reply {
  readonly id: number;
  readonly value?: unknown;
  readonly error?: { readonly code: string; readonly message: string };
}

export type Notice =
  | { readonly process: string; readonly line: string }
  | { readonly process: string; readonly exit: number | null }
  | { readonly ready: string };
