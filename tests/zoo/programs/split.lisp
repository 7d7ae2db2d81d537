;; SPDX-License-Identifier: MIT
;; heavy does twice light's work, 51 frames of deep below.
(declaim (optimize (speed 1)) (notinline spin heavy light deep))
(defun spin (n) (let ((x 1)) (declare (fixnum n x)) (dotimes (i n x) (setq x (logand (+ (* x 110351) i) #x3fffffff)))))
(defun heavy (n) (ash (spin (* 2 n)) -1))
(defun light (n) (ash (spin n) -2))
(defun deep (d n) (if (> d 0) (1+ (deep (1- d) n)) (logxor (heavy n) (light n))))
(defun turns (n) (let ((sum 0)) (dotimes (i 400 sum) (incf sum (deep 50 (+ n (* (mod i 97) (floor n 100))))))))
