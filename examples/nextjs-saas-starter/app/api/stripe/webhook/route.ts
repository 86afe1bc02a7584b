export { POST } from '@/lib/payments/instep';
