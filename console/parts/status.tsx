// A state, shown by a mark of its own form and by its word: never by the colour alone.

type Tone = 'good' | 'bad' | 'warning' | 'pending' | 'neutral';

const marks: Readonly<Record<Tone, string>> = {
  good: '\u25cf',
  bad: '\u2715',
  warning: '\u25b2',
  pending: '\u25d4',
  neutral: '\u25cb',
};

export function Status({ tone, children }: { readonly tone: Tone; readonly children: string }) {
  return (
    <span class={`status ${tone}`}>
      <span aria-hidden="true">{marks[tone]}</span> {children}
    </span>
  );
}

const tones: Readonly<Record<string, Tone>> = {
  online: 'good',
  drained: 'warning',
  away: 'bad',
  conflict: 'bad',
  'never-reported': 'neutral',
  enabled: 'good',
  disabled: 'warning',
  maintaining: 'warning',
  'maintenance-overdue': 'warning',
  Bound: 'good',
  BindFailed: 'bad',
  BindStarted: 'pending',
  provisioning: 'pending',
  unknown: 'warning',
  'failed-bind': 'bad',
  'stuck-job': 'bad',
  quarantine: 'warning',
  'host-away': 'bad',
  'clock-skew': 'warning',
  'unhealthy-device': 'bad',
  'not-offered': 'warning',
  'firmware-differs': 'warning',
  'lost-providers': 'bad',
  drift: 'warning',
  draining: 'pending',
  started: 'pending',
  'awaiting-power-cycle': 'warning',
  done: 'good',
  failed: 'bad',
};

/** The state that a word of the API names. */
export function StateOf({
  word,
  title = word,
}: {
  readonly word: string;
  readonly title?: string;
}) {
  return <Status tone={tones[word] ?? 'neutral'}>{title}</Status>;
}
