import { Screen } from '../parts/screen.tsx';

export function UsageScreen() {
  return <Screen title="Usage">Later.</Screen>;
}
