// A state, shown by an icon of its own form and by its word: never by the colour alone.

import { Icon, type IconName } from './icon.tsx';

type Tone = Extract<IconName, 'good' | 'bad' | 'warning' | 'pending' | 'neutral'>;

export function Status({ tone, children }: { readonly tone: Tone; readonly children: string }) {
  return (
    <span class={`status ${tone}`}>
      <Icon name={tone} /> {children}
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
  'cleanings-paused': 'bad',
  'offered-twice': 'bad',
  'host-away': 'bad',
  'clock-skew': 'warning',
  'unhealthy-device': 'bad',
  'device-not-attached': 'bad',
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

/** In place of a value that there is not. */
export function None() {
  return <span class="quiet none">-</span>;
}

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
