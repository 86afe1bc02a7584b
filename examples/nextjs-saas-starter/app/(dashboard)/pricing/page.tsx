import { checkout } from '@/lib/payments/actions';

export default function Pricing() {
  return (
    <form action={checkout}>
      <input type="hidden" name="price" value="price_pro" />
      <button type="submit">Start the 14-day trial of Pro</button>
    </form>
  );
}
